-- Why somebody said no to an approval, in their own words.
alter table approvals add column reason text;
