-- Values of statuses and kinds get the field's words. Replicas of an earlier version have to be stopped before this is
-- applied: they compare with the earlier words. The audit cannot be rewritten, so its old rows keep the actions they have.

update people set membership = 'deactivated' where membership = 'gone';
update identities set membership = 'deactivated' where membership = 'gone';

update inbound i set kind = k.current
from (values
    ('said', 'message'),
    ('pressed', 'button_click'),
    ('submitted', 'form_submission'),
    ('changed', 'message_change'),
    ('picked', 'message_action'),
    ('pane', 'assistant_thread'),
    ('home', 'home_opened')) k (earlier, current)
where i.kind = k.earlier;

update connect_requests o set status = k.current
from (values
    ('begun', 'authorizing'),
    ('resumed', 'callback_received'),
    ('other_account', 'needs_review')) k (earlier, current)
where o.status = k.earlier;

update account_reviews set status = 'denied' where status = 'refused';
update drafts set status = 'deleted_externally' where status = 'gone';

alter table channels alter column follow_mode set default 'all';
update channels set follow_mode = case follow_mode when 'thread' then 'all' when 'mention' then 'mentions' else follow_mode end;

update attachments a set status = k.current
from (values
    ('waiting', 'pending'),
    ('read', 'extracted'),
    ('unread', 'failed')) k (earlier, current)
where a.status = k.earlier;
