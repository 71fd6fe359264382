-- epoch_raise
-- Access was taken away, so rights that were read under the old epoch must be read again.
update mark set epoch = epoch + 1
