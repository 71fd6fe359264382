// Renders the OpenAPI document as Markdown: a page per tag, and a page of what all operations share.

import { fields, kind, resolved } from './schema.mjs';

/** The tags with their titles, in the order of the pages. */
const TAGS = {
  leases: 'Leases',
  tasks: 'Tasks',
  queues: 'Queues',
  sync: 'Synchronisation',
  events: 'Live events',
  access: 'Users and tokens',
  audit: 'Audit',
  'sign-in': 'Signing in',
  operation: 'Operation',
};

/**
 * Returns the pages by name, as Markdown. Fails for an operation without an example. `messages` are the server's texts
 * in English, as Fluent.
 */
export function apiPages(document, messages) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })));
  const pages = { index: index(document, operations, messages) };
  for (const operation of operations) {
    const [tag] = operation.tags;
    if (!TAGS[tag]) throw new Error(`${operation.operationId}: tag ${tag} has no title in .vitepress/api.mjs`);
    pages[tag] ??= `# ${TAGS[tag]}\n`;
    pages[tag] += `\n${render(document, operation)}`;
  }
  return pages;
}

function index(document, operations, messages) {
  const rows = Object.entries(TAGS).flatMap(([tag, title]) => {
    const list = operations.filter((operation) => operation.tags[0] === tag);
    const row = ({ method, path, operationId, summary }) =>
      `| ${verb(method)} [\`${path}\`](${tag}.md#${operationId}) | ${cell(summary)} |`;
    return [`\n## ${title}\n`, '| operation | does |', '|---|---|', ...list.map(row)];
  });
  const codes = Object.entries(document.components.schemas.Problem.properties.code['x-status']);
  const problem = ([code, status]) => `| \`${code}\` | ${status} | ${cell(meaning(messages, code))} |`;
  return `# HTTP API

This reference is generated from [openapi.json](../openapi.json), which every server also serves at \`/openapi.json\`. Every
server shows the same reference at \`/docs\`, in English and Spanish. Each example is recorded from a real server by a test.

- Bodies are JSON in snake_case. Times are RFC 3339 in UTC with milliseconds.
- A caller sends \`Authorization: Bearer TOKEN\`. Without a token the answer is 401, without the permission 403.
- Every error is a problem (RFC 9457) with a stable code and a message in the language of \`Accept-Language\`.
- Lists take \`limit\` and \`cursor\`, and answer \`items\` and \`next_cursor\`.
- Unknown fields are refused by name, and nothing is stored.
${rows.join('\n')}

## Problem codes

A problem's \`code\` is stable. Later versions may add codes. Values that the answer names are shown as ‹name›.

| code | status | meaning |
|---|---|---|
${codes.map(problem).join('\n')}
`;
}

/** Returns the title of a problem, and its detail if that is one sentence: a detail with choices is left out. */
function meaning(messages, code) {
  const [, text, title] = messages.match(new RegExp(`^problem-${code} =([^]*?)\\n    \\.title = (.+)$`, 'm')) ?? [];
  if (!title) throw new Error(`the code ${code} has no title in the English messages`);
  const detail = text.trim().replace(/\s*\n\s*/g, ' ').replace(/\{ \$(\w+) \}/g, '‹$1›');
  return detail.includes('{') ? title : `${title}: ${detail}`;
}

function render(document, operation) {
  const { path, method, operationId, summary, description } = operation;
  const parts = [
    `## ${summary.replace(/\.$/, '')} {#${operationId}}`,
    `${verb(method)} \`${path}\``,
    description ?? '',
    `**Permission:** ${permission(operation)}`,
    table('Parameters', parameters(document, operation)),
    ...bodies(document, operation),
    `**Example**\n\n${fence('sh', curl(document, operation))}`,
    ...answers(document, operation),
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

const verb = (method) => `\`${method.toUpperCase()}\`{.verb .${method}}`;

function permission({ security, ...operation }) {
  if (security.length === 0) return 'none, no token needed';
  return operation['x-permission'] ? `\`${operation['x-permission']}\`` : 'any signed-in user or token';
}

function parameters(document, operation) {
  return (operation.parameters ?? []).map((parameter) => {
    const { name, in: place, required, description, schema } = resolved(document, parameter);
    return { name, kind: `${place}, ${kind(document, schema)}`, required, about: description ?? '' };
  });
}

/** Renders the body. A form has the same fields as JSON. */
function bodies(document, { requestBody }) {
  if (!requestBody) return [];
  const [schema] = Object.values(requestBody.content).map((content) => content.schema);
  const rows = fields(document, schema);
  const optional = requestBody.required === false ? ', optional' : '';
  return [rows.length > 0 ? table(`Body${optional}`, rows) : `**Body${optional}:** ${kind(document, schema)}`];
}

const table = (heading, rows) => (rows.length > 0 ? `**${heading}**\n\n${rowsOf(rows)}` : '');

function rowsOf(rows) {
  const line = ({ name, kind, required, about }) =>
    `| \`${name}\`${required ? ' *required*' : ''} | ${cell(kind)} | ${cell(about)} |`;
  return ['| name | type | meaning |', '|---|---|---|', ...rows.map(line)].join('\n');
}

/** Keeps a text in one cell: bars and line breaks would end it. */
const cell = (text) => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');

function curl(document, operation) {
  const { method, security, requestBody } = operation;
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`curl --fail-with-body "$TURNO_URL${address(document, operation)}"`];
  const body = requestBody?.content['application/json'].example;
  if (requestBody && body === undefined) throw new Error(`${operation.operationId} has no example of its body`);
  if (method !== 'get' && !(method === 'post' && requestBody)) lines.push(`-X ${method.toUpperCase()}`);
  if (security.length > 0) lines.push('-H "Authorization: Bearer $TURNO_TOKEN"');
  if (requestBody) lines.push(`--json ${quoted(compact(body))}`);
  return lines.join(' \\\n  ');
}

/** Returns the path and the query of the example. */
function address(document, { operationId, path, parameters = [] }) {
  const all = parameters.map((parameter) => resolved(document, parameter)).filter(({ example }) => example !== undefined);
  const query = all.filter((one) => one.in === 'query').map(({ name, example }) => `${name}=${encodeURIComponent(example).replaceAll('%3A', ':')}`);
  const filled = all.filter((one) => one.in === 'path')
    .reduce((path, { name, example }) => path.replace(`{${name}}`, example), path);
  if (filled.includes('{')) throw new Error(`${operationId}: ${filled} has a parameter without an example`);
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}

/** Writes a body on one line if it is short. */
function compact(body) {
  const short = JSON.stringify(body);
  return short.length <= 90 ? short : JSON.stringify(body, null, 2);
}

const json = (value) => fence('json', JSON.stringify(value, null, 2));

const fence = (language, text) => `\`\`\`${language}\n${text}\n\`\`\``;

/** Renders each answer: the recorded one with its body, and the meaning of its fields. Fails if none is recorded. */
function answers(document, operation) {
  const successes = Object.entries(operation.responses).filter(([status]) => status !== 'default');
  const rendered = successes.map(([status, { description, content }]) => {
    const [[type, { schema, example } = {}] = []] = Object.entries(content ?? {});
    const about = [description, type ? '' : 'no body', type === 'application/json' ? '' : type && `\`${type}\``];
    const rows = type === 'application/json' ? fields(document, schema) : [];
    const shown = typeof example === 'string' ? fence('text', example.trimEnd()) : example && json(example);
    const parts = [
      `**Answer \`${status}\`** ${about.filter(Boolean).join(', ')}`.trim(),
      shown,
      rows.length > 0 && `::: details Fields (${rows.length})\n${rowsOf(rows)}\n:::`,
    ];
    return { text: parts.filter(Boolean).join('\n\n'), isRecorded: !type || type === 'text/html' || Boolean(shown) };
  });
  if (!rendered.some(({ isRecorded }) => isRecorded)) throw new Error(`${operation.operationId}: no answer is recorded`);
  return [...rendered.map(({ text }) => text), refusals(operation)];
}

/** Renders the recorded refusals. Every other refusal has the same form. */
function refusals({ responses }) {
  const examples = Object.entries(responses.default.content['application/problem+json'].examples ?? {});
  const each = examples.map(([code, { value }]) => `\`${value.status}\` [\`${code}\`](index.md#problem-codes)\n\n${json(value)}`);
  if (each.length === 0) return '**Refusals** are [problems](index.md#problem-codes).';
  return `**Refusals** are [problems](index.md#problem-codes), for example:\n\n${each.join('\n\n')}`;
}
