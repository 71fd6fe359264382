-- came_back_remove
delete from came_back where seq = ?1
