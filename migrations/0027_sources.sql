-- Where the outside text came from that was in view when something was asked for, in the order in which it was read. The
-- card names the last; all of them stand behind a button.
alter table approvals add column sources text[] not null default '{}';
