-- hot_request
-- Only for claims with a request id. Whatever is saved later leaves these columns alone: the fence beside the id says
-- whether they speak of the hand-out that lives.
update hot set request_fence = ?2, request = ?3 where seq = ?1
