-- link_spend
delete from link where hash = ?1
