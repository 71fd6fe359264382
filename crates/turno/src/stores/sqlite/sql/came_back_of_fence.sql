-- came_back_of_fence
select how
from came_back
where seq = ?1 and fence = ?2
