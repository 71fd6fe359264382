-- hot_request
-- Only for claims with a request id. Later updates leave these columns as they are, so the fence beside the id tells
-- whether they belong to the live delivery.
update hot set request_fence = ?2, request = ?3 where seq = ?1
