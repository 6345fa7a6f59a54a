/**
 * Whether a stream record passes a filter of Lambda's event source mapping: the operators that
 * our filters use, as the developer guide has them ("Filter rule syntax").
 */
type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A mapping lets a record through that one of its filters matches. */
export function passes(filters: readonly unknown[], record: unknown): boolean {
  return filters.some((filter) => matches(filter as Json, record as Json));
}

function matches(pattern: Json, value: Json | undefined): boolean {
  if (Array.isArray(pattern)) return pattern.some((rule) => obeys(rule, value));
  if (typeof pattern !== 'object' || pattern === null)
    throw new Error(`Not a pattern: ${JSON.stringify(pattern)}`);
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  return Object.entries(pattern).every(([name, rule]) =>
    matches(rule, (fields as Readonly<Record<string, Json>>)[name]),
  );
}

function obeys(rule: Json, value: Json | undefined): boolean {
  if (typeof rule !== 'object' || rule === null) return value === rule;
  if (Array.isArray(rule)) throw new Error(`Not a rule: ${JSON.stringify(rule)}`);
  const [[operator, operand] = ['', null], ...more] = Object.entries(rule);
  if (more.length > 0) throw new Error(`One operator a rule: ${JSON.stringify(rule)}`);
  switch (operator) {
    case 'exists':
      return (value !== undefined) === operand;
    case 'prefix':
      return typeof value === 'string' && value.startsWith(String(operand));
    default:
      throw new Error(`The operator ${operator} is not one that Lambda's filters were tested with here.`);
  }
}
