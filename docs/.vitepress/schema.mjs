// Reads JSON schemas of the OpenAPI document: a short description of a value, and the fields of an object.

/** The deepest level of nested fields. The OpenAPI document has the rest. */
const DEPTH_MAX = 3;

/** Follows a reference. A schema without one is returned as it is. */
export function resolved(document, schema) {
  const path = schema?.$ref?.replace(/^#\//, '').split('/');
  return path ? path.reduce((value, name) => value[name], document) : (schema ?? {});
}

/** Returns the alternative that is not null, for an optional value. */
function unwrapped(document, schema) {
  const found = resolved(document, schema);
  const real = (found.oneOf ?? found.anyOf ?? []).filter((one) => one.type !== 'null');
  return real.length === 1 ? resolved(document, real[0]) : found;
}

/** Describes the values of a schema: `integer, 0 to 30000`, `free | locked`, `list of string`. */
export function kind(document, schema) {
  const real = unwrapped(document, schema);
  return [base(document, real), ...bounds(real)].join(', ');
}

function base(document, schema) {
  if (schema.enum) return schema.enum.filter((value) => value !== null).join(' | ');
  if (typeof schema.const === 'string') return schema.const;
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return choices.filter((one) => one.type !== 'null').map((one) => kind(document, one)).join(' | ');
  const object = schema.properties || schema.allOf ? 'object' : 'any JSON';
  const types = [schema.type ?? object].flat().filter((type) => type !== 'null');
  return types[0] === 'array' ? `list of ${kind(document, schema.items)}` : types.join(' | ');
}

function bounds(schema) {
  const found = [];
  const pairs = [['minimum', 'maximum', ''], ['minLength', 'maxLength', ' characters'], ['minItems', 'maxItems', ' entries']];
  for (const [low, high, what] of pairs) {
    if (low in schema && high in schema) found.push(`${schema[low]} to ${schema[high]}${what}`);
    else if (low in schema) found.push(`${schema[low]}${what} or more`);
    else if (high in schema) found.push(`at most ${schema[high]}${what}`);
  }
  if (schema.default !== undefined && schema.default !== null) found.push(`default ${JSON.stringify(schema.default)}`);
  if (schema.format === 'date-time') found.push('RFC 3339');
  return found;
}

/** Returns the fields of an object. Each is followed by the fields of its own object: `lines[].sku`. */
export function fields(document, schema, inside = '', depth = 0) {
  const real = unwrapped(document, schema);
  if (real.type === 'array') return fields(document, real.items, inside || '[].', depth);
  const parts = (real.allOf ?? []).flatMap((part) => fields(document, part, inside, depth));
  const own = Object.entries(real.properties ?? {}).flatMap(([name, field]) => {
    const value = unwrapped(document, field);
    const row = {
      name: inside + name,
      kind: kind(document, field),
      required: real.required?.includes(name) ?? false,
      about: field.description ?? value.description ?? '',
    };
    const nested = `${inside}${name}${value.type === 'array' ? '[]' : ''}.`;
    return [row, ...(depth < DEPTH_MAX ? fields(document, field, nested, depth + 1) : [])];
  });
  return [...parts, ...own];
}
