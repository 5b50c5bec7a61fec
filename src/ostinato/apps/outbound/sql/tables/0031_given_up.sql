-- Since when its organisation has no sender for it any more: anybody may prove it anew, and until somebody does, what
-- people write to it is still for who had it.
alter table outbound.ownership add column left_at timestamptz;
