update questions set vote = '{"title": "Planning", "voters": ["bo@acme.test"]}';
