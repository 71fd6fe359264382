-- check_finished_twice
-- Q4: What has finished is not among the unfinished.
select 'item ' || h.seq, 'it is finished and unfinished at once'
from hot h
join done d on d.seq = h.seq
order by h.seq
limit ?1
