-- epoch_raise
-- Access was taken away: whoever was allowed under the old number must be looked up again.
update mark set epoch = epoch + 1
