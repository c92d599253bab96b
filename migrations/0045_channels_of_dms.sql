-- A DM is looked for by the person it is with, and after an absence all DMs of a workspace are listed. Neither should read
-- every channel.
create index channels_of_dms on channels (tenant_id, platform, workspace, dm_user_ref) where is_dm;
