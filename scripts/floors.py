#!/usr/bin/env python3
"""Floors of core/: reads every `use crate::…`, `crate::…`, `super::…` reference of core/src, maps both ends to the target
crates and prints each reference that runs upward. With the mends applied group by group it shows what is left.

  NOD_ROOT=. python3 floors.py            # upward references today, file:line item; then the groups; then circles in crates
  NOD_ROOT=. python3 floors.py lines      # lines per crate, and what a change recompiles
  NOD_ROOT=. python3 floors.py pub        # the items that must become `pub`, by crate
"""
import os, re, sys, collections
ROOT = os.environ.get("NOD_ROOT", ".")
SRC = os.path.join(ROOT, "core/src")
sys.setrecursionlimit(100000)

# ---------------------------------------------------------------- target
ORDER = ['contract', 'when', 'store', 'people', 'accounts', 'requests', 'memory', 'agent', 'nod']
BASE = ['contract', 'when', 'store', 'people']
DEPS = {'contract': [], 'when': ['contract'], 'store': ['contract'], 'people': ['contract', 'when', 'store'],
        'accounts': BASE, 'requests': BASE, 'memory': BASE,
        'agent': BASE + ['accounts', 'requests', 'memory'],
        'nod': BASE + ['accounts', 'requests', 'memory', 'agent']}
# whole top-level modules, as they stand
TOP = {'ids': 'contract', 'clock': 'contract', 'scope': 'contract', 'privacy': 'contract', 'visible': 'contract',
       'card': 'contract', 'chat': 'contract', 'tool': 'contract', 'model': 'contract', 'outside': 'contract', 'wire': 'contract',
       'when': 'when', 'slots': 'when',
       'store': 'store', 'jobs': 'store', 'seat': 'store', 'tenant': 'store', 'audit': 'store', 'secret': 'store',
       'pane': 'people', 'people': 'people', 'delivery': 'people', 'file': 'people', 'reading': 'people',
       'connection': 'accounts',
       'policy': 'requests', 'approval': 'requests', 'effect': 'requests', 'draft': 'requests', 'question': 'requests',
       'memory': 'memory', 'history': 'memory',
       'graph': 'agent', 'run': 'agent', 'voice': 'agent',
       # modules that the plan makes: here so that the script goes on working while they come
       'provider': 'contract', 'digest': 'contract', 'address': 'contract', 'contacts': 'contract', 'text': 'contract',
       'steps': 'store', 'hooks': 'store', 'open_pages': 'people', 'progress': 'people', 'links': 'people', 'named': 'people',
       'busy': 'requests', 'perform': 'requests', 'state': 'agent', 'rows': 'agent', 'forget': 'agent',
       'join': 'nod', 'catch_up': 'nod', 'context': 'nod',
       'inbox': 'nod', 'home': 'nod', 'transcript': 'nod', 'worker': 'nod', 'nod': 'nod', '': 'nod'}

# files that stand beside those of other floors, whatever their folder; `pane/mod.rs` and `pane/sql.rs` join them in step 5
PLACED = [('context/' + c + '.rs', crate, 'context') for c, crate in
          [('base', 'store'), ('chat', 'people'), ('requests', 'requests'), ('memory', 'memory'), ('agent', 'agent')]]

# ---------------------------------------------------------------- mends: (group, what, to crate, to module, note)
# `what` is a file, a folder ending in /, or file::item
MOVES = [
 ('A values and words go down', 'graph/prompt.rs::local_time', 'when', 'local', 'fn local_time(at, zone)'),
 ('A values and words go down', 'graph/prompt.rs::local_second', 'when', 'local', 'fn local_second(at, zone)'),
 ('A values and words go down', 'graph/prompt.rs::fenced', 'contract', 'text', 'pure'),
 ('A values and words go down', 'graph/route.rs::grouped', 'contract', 'text', 'pure'),
 ('A values and words go down', 'graph/busy.rs::A_MOMENT', 'requests', 'busy', 'const'),
 ('A values and words go down', 'graph/busy.rs::asks_to_wait', 'requests', 'busy', 'fn'),
 ('A values and words go down', 'draft/mod.rs::Draft', 'contract', 'tool', 'value; ActTool and Leaves name it'),
 ('A values and words go down', 'draft/mod.rs::DraftTools', 'contract', 'tool', 'value'),
 ('A values and words go down', 'draft/mod.rs::Closing', 'contract', 'tool', 'value'),
 ('A values and words go down', 'effect/mod.rs::EffectKey', 'contract', 'tool', 'value'),
 ('A values and words go down', 'effect/mod.rs::Permit', 'contract', 'tool', 'value; see the text on minting'),
 ('A values and words go down', 'approval/digest.rs', 'contract', 'digest', 'pure; the calendar connector uses it'),
 ('A values and words go down', 'policy/mod.rs::is_outside', 'contract', 'address', 'pure; the mail connector uses it'),
 ('A values and words go down', 'policy/mod.rs::home', 'contract', 'address', 'pure'),
 ('A values and words go down', 'policy/mod.rs::domain', 'contract', 'address', 'pure'),
 ('A values and words go down', 'policy/mod.rs::FREE_MAIL', 'contract', 'address', 'list'),
 ('A values and words go down', 'policy/mod.rs::FREE_MAIL_ANYWHERE', 'contract', 'address', 'list'),
 ('A values and words go down', 'tool.rs::Provider', 'contract', 'provider', 'card and tool know each other by it'),
 ('A values and words go down', 'policy/mod.rs::Named', 'people', 'named', 'value'),
 ('A values and words go down', 'people/mod.rs::Standing', 'contract', 'chat', 'inherent impl: must stand where the type is'),
 ('A values and words go down', 'people/directory.rs::lane_of', 'contract', 'ids', 'pure: an id that follows from words'),
 ('A values and words go down', 'people/contacts.rs::Contact', 'contract', 'contacts', 'connectors implement it'),
 ('A values and words go down', 'people/contacts.rs::Contacts', 'contract', 'contacts', 'connectors implement it'),
 ('A values and words go down', 'memory/job.rs::is_alone', 'people', 'delivery', 'becomes Venue::is_alone'),
 ('A values and words go down', 'connection/again.rs::VERB', 'contract', 'card', 'the [Reconnect] button'),
 ('A values and words go down', 'connection/again.rs::reconnect', 'contract', 'card', 'the [Reconnect] button'),
 ('A values and words go down', 'connection/cards.rs::with_reconnect', 'contract', 'card', 'the [Reconnect] button'),
 ('A values and words go down', 'connection/disconnect.rs::verb', 'contract', 'card', 'the [Reconnect] button'),

 ('B rows go to who owns the table', 'graph/record.rs::StepRecord', 'store', 'steps', 'run_steps'),
 ('B rows go to who owns the table', 'run/sql.rs::record', 'store', 'steps', 'run_steps'),
 ('B rows go to who owns the table', 'run/sql.rs::only_for', 'store', 'steps', 'beside record; run/sql keeps using it'),
 ('B rows go to who owns the table', 'run/sql.rs::person_of', 'people', 'delivery', 'one select on runs, for a message without target'),
 ('B rows go to who owns the table', 'run/sql.rs::Said', 'memory', 'memory', 'what View::of takes; into memory/view.rs'),
 ('B rows go to who owns the table', 'pane/mod.rs', 'people', 'pane', 'assistant thread: rows and its job'),
 ('B rows go to who owns the table', 'pane/sql.rs', 'people', 'pane', ''),
 ('B rows go to who owns the table', 'pane/card.rs::prompts', 'people', 'pane', 'what the pane offers'),
 ('B rows go to who owns the table', 'home/mod.rs::Home', 'people', 'open_pages', 'pages that are open'),
 ('B rows go to who owns the table', 'home/mod.rs::LOOKED_AT', 'people', 'open_pages', ''),
 ('B rows go to who owns the table', 'home/mod.rs::opened', 'people', 'open_pages', ''),
 ('B rows go to who owns the table', 'home/mod.rs::touch', 'people', 'open_pages', ''),
 ('B rows go to who owns the table', 'home/mod.rs::shown_again', 'people', 'open_pages', ''),
 ('B rows go to who owns the table', 'home/mod.rs::lane', 'people', 'open_pages', ''),
 ('B rows go to who owns the table', 'home/sql.rs::opened', 'people', 'open_pages', ''),
 ('B rows go to who owns the table', 'home/sql.rs::looked_at', 'people', 'open_pages', ''),
 ('B rows go to who owns the table', 'run/progress.rs::id', 'people', 'progress', 'the line with [Stop]'),
 ('B rows go to who owns the table', 'run/progress.rs::working', 'people', 'progress', ''),
 ('B rows go to who owns the table', 'run/progress.rs::waits', 'people', 'progress', ''),
 ('B rows go to who owns the table', 'run/progress.rs::stands', 'people', 'progress', ''),
 ('B rows go to who owns the table', 'run/progress.rs::end', 'people', 'progress', ''),
 ('B rows go to who owns the table', 'run/sql.rs::is_stopped', 'people', 'progress', 'one select on runs'),
 ('B rows go to who owns the table', 'voice/sql.rs', 'people', 'delivery', 'writes deliveries: an open message'),
 ('B rows go to who owns the table', 'voice/mod.rs::Open', 'people', 'delivery', 'value of that row'),
 ('B rows go to who owns the table', 'connection/links.rs', 'people', 'links', 'struct Links { vault, public_url }'),

 ('C rooms that stand too low go up', 'pane/card.rs::greeting', 'nod', 'inbox', 'into inbox/pane.rs, its only caller'),
 ('C rooms that stand too low go up', 'people/join/', 'nod', 'join', 'moves rows of 20 tables of all crates: belongs on top'),
 ('C rooms that stand too low go up', 'history/catch_up.rs', 'nod', 'catch_up', 'feeds the inbox'),
 ('C rooms that stand too low go up', 'history/sql.rs::direct_lines', 'nod', 'catch_up', ''),
 ('C rooms that stand too low go up', 'history/sql.rs::heard_until', 'nod', 'catch_up', ''),
 ('C rooms that stand too low go up', 'history/sql.rs::hear', 'nod', 'catch_up', ''),
 ('C rooms that stand too low go up', 'history/sql.rs::threads', 'nod', 'catch_up', ''),
 ('C rooms that stand too low go up', 'history/forget.rs', 'agent', 'forget', 'writes runs, run_steps, messages: the run\'s own record'),
 ('C rooms that stand too low go up', 'history/sql.rs::forget', 'agent', 'forget', ''),
]
# references that vanish: (group, from file (or *), to file::item, mend)
CUTS = [
 ('D a parameter, or a query of its own', 'graph/route.rs', 'inbox/command.rs::help_text', 'NodeContext.help: &str, built by nod'),
 ('D a parameter, or a query of its own', 'approval/edit.rs', 'run/sql.rs::load', 'approval::sql::provenance(conn, tenant, run): select state->\'provenance\' from runs'),
 ('E a hook declared below', 'connection/disconnect.rs', 'approval/decide.rs::Decision', 'trait AccountEnded'),
 ('E a hook declared below', 'connection/disconnect.rs', 'approval/decide.rs::press', 'trait AccountEnded'),
 ('E a hook declared below', 'connection/disconnect.rs', 'approval/sql.rs::asked_of', 'trait AccountEnded'),
 ('E a hook declared below', 'connection/disconnect.rs', 'approval/sql.rs::load', 'trait AccountEnded'),
 ('F Core becomes a struct a floor', '*', 'nod.rs::Core', 'Base, Chat, Accounts, Requests, Memory, Agent'),
]
# in-crate circles: further moves (module within the crate only)
INNER = [
 ('G no circle inside a crate', 'effect/perform.rs', 'requests', 'perform', 'the job, above approval and draft'),
 ('G no circle inside a crate', 'effect/mod.rs::plan', 'requests', 'approval', 'into approval/decide.rs, its only caller'),
 ('G no circle inside a crate', 'effect/mod.rs::call_off', 'requests', 'perform', 'refreshes cards'),
 ('G no circle inside a crate', 'graph/mod.rs::Node', 'agent', 'state', 'value'),
 ('G no circle inside a crate', 'run/state.rs', 'agent', 'state', 'value'),
 ('G no circle inside a crate', 'run/sql.rs', 'agent', 'rows', 'rows of runs and messages'),
 ('G no circle inside a crate', 'run/became.rs', 'agent', 'rows', 'what a run came to: read by rows'),
]
# seen by name alone: an enum's variant, a parameter
FALSE = {('draft/mod.rs', 'Closing', 'draft/settle.rs', 'Discarded'), ('run/progress.rs', 'working', 'run/progress.rs', 'words')}

# ---------------------------------------------------------------- reading
TOK = re.compile(r'''(?P<ws>\s+)|(?P<lc>//[^\n]*)|(?P<raw>b?r(?P<h>\#*)".*?"(?P=h))|(?P<str>b?"(?:\\.|[^"\\])*")
 |(?P<chr>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\\n])')|(?P<life>'[A-Za-z_]\w*)|(?P<id>(?:r\#)?[A-Za-z_]\w*)
 |(?P<num>\d[\w]*(?:\.\d[\w]*)?)|(?P<pp>::)|(?P<op>=>|->|.)''', re.X | re.S)
KW = {'fn', 'struct', 'enum', 'trait', 'type', 'const', 'static', 'union'}

def tokens(path):
    line, res = 1, []
    for m in TOK.finditer(open(path).read()):
        t = m.group(0)
        for g in ('id', 'pp', 'op', 'num', 'life'):
            if m.group(g) is not None:
                res.append((g, t, line)); break
        if m.group('str') is not None or m.group('raw') is not None:     # "{NAME}" and "x: Json<Name>" name items too
            for x in re.findall(r'\{([A-Za-z_]\w*)[:}]|Json<(\w+)>', t):
                res += [('op', '"', line), ('id', x[0] or x[1], line), ('op', '"', line)]
        line += t.count('\n')
    return res

class File: pass
FILES = {}
for d, _, fs in os.walk(SRC):
    for f in fs:
        if f.endswith('.rs'):
            F = File(); F.path = os.path.join(d, f); F.rel = os.path.relpath(F.path, SRC)
            p = F.rel[:-3].split('/')
            if p[-1] == 'mod': p = p[:-1]
            F.mod = () if p == ['lib'] else tuple(p)
            F.lines = open(F.path).read().count('\n')
            FILES[F.mod] = F

def parse_use(T, i, prefix):
    res, path = [], list(prefix)
    while True:
        k, t, l = T[i]
        if t == '{':
            i += 1
            while T[i][1] != '}':
                sub, i = parse_use(T, i, path); res += sub
                if T[i][1] == ',': i += 1
            return res, i + 1
        if t == '*': return res + [(tuple(path) + ('*',), None, l)], i + 1
        if k == 'pp': i += 1; continue
        if t == 'self' and path: p, name = tuple(path), path[-1]
        else: path.append(t); p, name = tuple(path), t
        if T[i + 1][0] == 'pp': i += 1; continue
        alias = name
        if T[i + 1][1] == 'as': alias = T[i + 2][1]; i += 2
        return res + [(p, alias, l)], i + 1

def absolute(p, mod):
    if p[0] == 'crate': return tuple(p[1:])
    if p[0] == 'self': return tuple(mod) + tuple(p[1:])
    if p[0] == 'super':
        m, q = list(mod), list(p)
        while q and q[0] == 'super':
            if m: m.pop()
            q.pop(0)
        return tuple(m) + tuple(q)

for F in FILES.values():
    T = F.T = tokens(F.path)
    F.defs, F.uses, F.children, F.paths, F.spans, F.impls = {}, [], set(), [], [], []
    depth, stack, i, n = 0, [], 0, len(T)
    while i < n:
        k, t, l = T[i]
        inner = tuple(s[1] for s in stack)
        if t == '{': depth += 1; i += 1; continue
        if t == '}':
            depth -= 1
            if stack and stack[-1][0] == depth: stack.pop()
            i += 1; continue
        top = depth == 0 and not stack
        if k == 'id' and t == 'use' and (i == 0 or T[i - 1][1] in (';', '}', '{', 'pub', ')', ']')):
            res, j = parse_use(T, i + 1, [])
            if top: F.spans.append((i, None))
            F.uses += [(p, a, ll, inner) for p, a, ll in res]
            i = j; continue
        if k == 'id' and t == 'mod' and T[i + 1][0] == 'id' and T[i + 2][1] in (';', '{'):
            if T[i + 2][1] == ';':
                if not stack: F.children.add(T[i + 1][1])
                i += 3; continue
            if top: F.spans.append((i, 'mod ' + T[i + 1][1]))
            stack.append((depth, T[i + 1][1])); depth += 1; i += 3; continue
        if top and k == 'id' and t in KW and T[i + 1][0] == 'id' and not (t == 'const' and T[i + 1][1] in ('fn', 'unsafe', 'async')):
            F.defs[T[i + 1][1]] = (t, l); F.spans.append((i, T[i + 1][1])); i += 2; continue
        if top and k == 'id' and t == 'macro_rules': F.spans.append((i, 'macro')); i += 1; continue
        if top and k == 'id' and t == 'impl' and (i == 0 or T[i - 1][1] in ('}', ';', ']', 'unsafe')):
            j, w = i + 1, []
            while T[j][1] not in '{;': w.append(T[j][1]); j += 1
            if w and w[0] == '<':
                dd = 0
                for q, x in enumerate(w):
                    dd += (x == '<') - (x == '>')
                    if dd == 0: w = w[q + 1:]; break
            if 'where' in w: w = w[:w.index('where')]
            tr = None
            if 'for' in w: tr, w = ''.join(w[:w.index('for')]), w[w.index('for') + 1:]
            ty = [x for x in w if re.match(r'[A-Z]', x)]
            ty = ty[0] if ty else '?'
            F.impls.append((ty, tr, l)); F.spans.append((i, ty)); i += 1; continue
        if k == 'id' and (i == 0 or (T[i - 1][0] != 'pp' and T[i - 1][1] != '.')) and i + 1 < n and T[i + 1][0] == 'pp':
            p, j = [t], i + 1
            while j + 1 < n and T[j][0] == 'pp' and T[j + 1][0] == 'id': p.append(T[j + 1][1]); j += 2
            F.paths.append((tuple(p), l, inner, i)); i = j; continue
        i += 1

def resolve(path, seen=()):
    if path in seen: return None
    m, rest = (), list(path)
    while rest:
        s, F = rest[0], FILES.get(m)
        if F is None: return None
        last = len(rest) == 1
        if s in F.children and m + (s,) in FILES and not (last and any(a == s and not inner for _, a, _, inner in F.uses)):
            m += (s,); rest.pop(0); continue
        if s in F.defs: return m, s
        for p, a, l, inner in F.uses:
            if inner or (a is not None and a != s): continue
            q = absolute(p if a else p[:-1], m) if p[0] in ('crate', 'super', 'self') else (m + (p if a else p[:-1]) if p[0] in F.children else None)
            if q is None: continue
            r = resolve(tuple(q) + tuple(rest[1:] if a else rest), seen + (path,))
            if r and r[1] and not r[1].startswith('?'): return r
        if m == ('ids',): return m, s          # made by a macro
        if s in F.children and m + (s,) in FILES: m += (s,); rest.pop(0); continue
        return m, '?' + s
    return m, None

def owner(F, at):
    name = None
    for start, nm in F.spans:
        if start > at: break
        name = nm
    return name

EDGES = []      # (file, item, line, to file, to item)
USELINES = []   # (file, line, to file, to item)
for F in FILES.values():
    scope = {}
    for p, a, l, inner in F.uses:
        q = absolute(p, F.mod + inner) if p[0] in ('crate', 'super', 'self') else (F.mod + p if p[0] in F.children else None)
        if q is None or a is None: continue
        r = resolve(q)
        if r is None: continue
        if r[1] is None: scope.setdefault(a, r[0])
        elif not r[1].startswith('?'):
            scope.setdefault(a, r); USELINES.append((F.rel, l, FILES[r[0]].rel, r[1]))
    for c in F.children:
        if F.mod + (c,) in FILES: scope.setdefault(c, F.mod + (c,))
    isitem = lambda v: len(v) == 2 and isinstance(v[0], tuple)
    for p, l, inner, at in F.paths:
        v = scope.get(p[0])
        if p[0] == 'crate': q = absolute(p, F.mod)
        elif p[0] in ('super', 'self'): q = absolute(p, F.mod + inner)
        elif v is not None and not isitem(v): q = v + p[1:]
        else: continue
        r = resolve(q)
        if r and r[1] and not r[1].startswith('?'):
            EDGES.append((F.rel, owner(F, at), l, FILES[r[0]].rel, r[1])); USELINES.append((F.rel, l, FILES[r[0]].rel, r[1]))
    for i, (k, t, l) in enumerate(F.T):
        v = scope.get(t) if k == 'id' else None
        if v is None or not isitem(v) or (i and F.T[i - 1][1] in ('.', '::')): continue
        if v[1][0].islower() and F.T[i + 1][1] in (':', ',', ')') and v[1] in ('words', 'discard', 'close', 'told', 'people'): continue   # a field or parameter
        o = owner(F, i)
        if o is not None: EDGES.append((F.rel, o, l, FILES[v[0]].rel, v[1]))
    for i, (k, t, l) in enumerate(F.T):     # items of the same file, for items that leave it
        if k == 'id' and t in F.defs and not (i and F.T[i - 1][1] in ('.', '::')):
            o = owner(F, i)
            if t[0].islower() and FILES[F.mod].defs[t][0] == 'fn' and F.T[i + 1][1] != '(' and not (i and F.T[i-1][1] == '('): continue
            if o and o != t: EDGES.append((F.rel, o, l, F.rel, t))
EDGES = sorted(set(EDGES))

# ---------------------------------------------------------------- judging
def topmod(rel): return '' if rel == 'lib.rs' else rel.split('/')[0].replace('.rs', '')
def place(rel, item, moves):
    best = None
    for w, c, m in list(moves) + PLACED:
        if '::' in w:
            f, it = w.split('::')
            if f == rel and it == item: return c, m
        elif (w == rel or (w.endswith('/') and rel.startswith(w))) and (best is None or len(w) > best[0]): best = (len(w), c, m)
    if best: return best[1:]
    t = topmod(rel)
    return TOP[t], t or 'lib'
def upward(moves, cuts):
    up = []
    for f, o, l, g, it in EDGES:
        a, b = place(f, o, moves)[0], place(g, it, moves)[0]
        if a == b or b in DEPS[a] or (f, o, g, it) in FALSE: continue
        if any((c[1] == '*' or c[1] == f) and c[2] == f'{g}::{it}' for c in cuts): continue
        up.append((f, o, l, g, it, a, b))
    return up
def circles(moves, cuts=()):
    out = {}
    for crate in ORDER:
        E, why = collections.defaultdict(set), collections.defaultdict(list)
        for f, o, l, g, it in EDGES:
            (a, m), (b, n) = place(f, o, moves), place(g, it, moves)
            if a == b == crate and m != n  and not any((c[1] == '*' or c[1] == f) and c[2] == f'{g}::{it}' for c in cuts):
                E[m].add(n); why[m, n].append(f'{f}:{l} {g}::{it}')
        idx, low, st, on, comps, c = {}, {}, [], set(), [], [0]
        def scc(v):
            idx[v] = low[v] = c[0]; c[0] += 1; st.append(v); on.add(v)
            for w in E[v]:
                if w not in idx: scc(w); low[v] = min(low[v], low[w])
                elif w in on: low[v] = min(low[v], idx[w])
            if low[v] == idx[v]:
                comp = []
                while True:
                    w = st.pop(); on.discard(w); comp.append(w)
                    if w == v: break
                if len(comp) > 1: comps.append(sorted(comp))
        for v in list(E):
            if v not in idx: scc(v)
        out[crate] = [(comp, {(m, n): why[m, n] for (m, n) in why if m in comp and n in comp}) for comp in comps]
    return out

def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ''
    moves, cuts = [], []
    groups = sorted({m[0] for m in MOVES} | {c[0] for c in CUTS})
    if mode == '':
        seen = set()
        print('UPWARD TODAY (use lines and paths), file:line  item  (crate -> crate)')
        rows = []
        for f, l, g, it in USELINES:
            a, b = place(f, None, [])[0], place(g, it, [])[0]
            if a != b and b not in DEPS[a]: rows.append((a, f, l, g, it, b))
        rows = sorted(set(rows))
        for a, f, l, g, it, b in rows: print(f'  core/src/{f}:{l}  {g}::{it}  ({a} -> {b})')
        print(len(rows), 'references,', len({(g, it) for _, _, _, g, it, _ in rows}), 'distinct items')
        up = upward([], [])
        print(f'item by item: {len(up)} uses, {len({(u[0],u[3],u[4]) for u in up})} (file, item) pairs, {len({u[3:5] for u in up})} items')
        for g in groups:
            moves += [(m[1], m[2], m[3]) for m in MOVES if m[0] == g]; cuts += [c for c in CUTS if c[0] == g]
            up = upward(moves, cuts)
            pairs = {(u[0], u[3], u[4]) for u in up}
            left = [r for r in sorted(set(rows)) if (r[1], r[3], r[4]) in pairs]
            print(f'after {g}: {len(left)} references, {len(pairs)} (file, item) pairs, {len({u[3:5] for u in up})} items')
        for u in up: print('   LEFT', u)
        print('CIRCLES inside crates, before G'); report(circles(moves, cuts))
        moves2 = [(m[1], m[2], m[3]) for m in INNER] + moves
        print('CIRCLES inside crates, after G'); report(circles(moves2, cuts))
        print('ORPHANS (inherent impl away from its type)')
        for F in FILES.values():
            for ty, tr, l in F.impls:
                if tr is None and ty not in F.defs and ty != '?':
                    for p, a, ll, inner in F.uses:
                        if a == ty:
                            q = absolute(p, F.mod)
                            r = q and resolve(q)
                            if r and r[1] and place(FILES[r[0]].rel, r[1], moves)[0] != place(F.rel, ty, moves)[0]:
                                print('  ', F.rel, l, ty)
    elif mode == 'lines':
        moves = [(m[1], m[2], m[3]) for m in MOVES]
        n = collections.Counter()
        for F in FILES.values():
            n[place(F.rel, None, moves)[0]] += F.lines
        print(dict(n))
        for c in ORDER: print(c, n[c], 'recompiles', sum(n[x] for x in ORDER if x == c or c in DEPS[x]))
    elif mode == 'pub':
        moves = [(m[1], m[2], m[3]) for m in MOVES]; need = collections.defaultdict(set)
        for f, o, l, g, it in EDGES:
            a, b = place(f, o, moves)[0], place(g, it, moves)[0]
            if a != b: need[b].add(f'{g}::{it}')
        for c in ORDER: print(c, len(need[c])); [print('   ', x) for x in sorted(need[c])]
def report(cs):
    for crate, comps in cs.items():
        for comp, why in comps:
            print('  ', crate, comp)
            for (m, n), ws in sorted(why.items()):
                print('      ', m, '->', n, len(ws), ';', ' | '.join(sorted({w.split(' ')[1] + '<-' + w.split(':')[0] for w in ws}))[:400])
try: main()
except BrokenPipeError: pass
