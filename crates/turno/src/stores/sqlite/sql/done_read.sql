-- done_read
select seq, queue, ended, at, attempt, fence, revision, holder from done where seq = ?1
