-- commit
commit
