-- name: hot_save
-- Has the parameters of hot_add. Seq, queue and lane never change, so the index hot_lane is not touched.
update hot set
    enqueued_at = ?4,
    not_before = ?5,
    ready_at = ?6,
    expires_at = ?7,
    claimed_at = ?8,
    attempt = ?9,
    fence = ?10,
    grp = ?11,
    last = ?12,
    revision = ?13,
    handed = ?14,
    parked = ?15,
    holder = ?16,
    size = ?17
where seq = ?1
