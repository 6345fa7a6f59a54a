/**
 * EventBridge's event patterns, as far as the documentation uses them: a list of alternatives for
 * a field, of exact values, prefixes and wildcards; a field of the event that is a list matches
 * where one of its elements does. Source: EventBridge user guide, "Event patterns".
 */

type Alternative = string | { readonly prefix: string } | { readonly wildcard: string };
export type Pattern = { readonly [field: string]: readonly Alternative[] | Pattern };

export function matches(pattern: Pattern, event: unknown): boolean {
  return Object.entries(pattern).every(([field, wanted]) => {
    const value = (event as Record<string, unknown> | undefined)?.[field];
    if (!isAlternatives(wanted)) return matches(wanted, value);
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.some((v) => wanted.some((alternative) => isOne(alternative, v)));
  });
}

function isAlternatives(wanted: readonly Alternative[] | Pattern): wanted is readonly Alternative[] {
  return Array.isArray(wanted);
}

function isOne(alternative: Alternative, value: unknown): boolean {
  if (typeof value !== 'string') return false;
  if (typeof alternative === 'string') return alternative === value;
  if ('prefix' in alternative) return value.startsWith(alternative.prefix);
  const parts = alternative.wildcard.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(value);
}
