-- Rows merged into others: 0
-- A question of a step that can be answered in words.
insert into questions (tenant_id, id, conversation_id, run_id, call_id, person_id, topic, choices, status, expires_at,
    delivery_id, created_at, takes_words)
    select tenant_id, '00000000-0000-0000-0000-0000000053f0', conversation_id, run_id, 'c1', person_id, 'Which date?',
        '[{"label": "12 March", "value": "12 March"}]', 'pending', expires_at, delivery_id, created_at, true
    from questions order by id limit 1;
