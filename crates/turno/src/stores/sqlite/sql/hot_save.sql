-- name: hot_save
-- Seq, queue and lane never change, so the index hot_lane is not touched.
update hot set
    enqueued_at = ?2,
    not_before = ?3,
    ready_at = ?4,
    expires_at = ?5,
    claimed_at = ?6,
    attempt = ?7,
    fence = ?8,
    grp = ?9,
    last = ?10,
    revision = ?11,
    handed = ?12,
    parked = ?13,
    holder = ?14,
    size = ?15
where seq = ?1
