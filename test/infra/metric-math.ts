/**
 * What CloudWatch makes of an alarm's metric in one period: sums, shares, FILL, IF and MAX over values that are given
 * by the metrics' ids. As there, a metric without data leaves an expression without a value unless FILL stands for it.
 */

export type Values = ReadonlyMap<string, number>;

/** @throws Error where the expression is not one that this evaluator knows */
export function evaluate(expression: string, values: Values): number | undefined {
  const tokens = expression.match(/>=|[A-Za-z_]\w*|\d+(?:\.\d+)?|[-+*/(),[\]]/g) ?? [];
  if (tokens.join('') !== expression.replace(/\s/g, '')) throw new Error(`Not known: ${expression}`);
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const take = (token: string): void => {
    const found = next();
    if (found !== token) throw new Error(`${token} was expected at ${found} of ${expression}`);
  };
  const list = (end: string): (number | undefined)[] => {
    const items = [comparison()];
    while (tokens[at] === ',') {
      take(',');
      items.push(comparison());
    }
    take(end);
    return items;
  };
  const binary = (
    operand: () => number | undefined,
    operators: Readonly<Record<string, (a: number, b: number) => number | undefined>>,
  ): number | undefined => {
    let left = operand();
    for (let apply = operators[tokens[at] ?? '']; apply !== undefined; apply = operators[tokens[at] ?? '']) {
      next();
      const right = operand();
      left = left === undefined || right === undefined ? undefined : apply(left, right);
    }
    return left;
  };
  const primary = (): number | undefined => {
    const token = next();
    if (/^\d/.test(token)) return Number(token);
    if (token === '(') return list(')')[0];
    if (tokens[at] !== '(') {
      if (/^[a-z]/.test(token)) return values.get(token);
      throw new Error(`${token} is not known in ${expression}`);
    }
    take('(');
    if (token === 'MAX') {
      take('[');
      const known = list(']').filter((value) => value !== undefined);
      take(')');
      return known.length === 0 ? undefined : Math.max(...known);
    }
    const [first, second, third] = list(')');
    if (token === 'FILL') return first ?? second;
    if (token === 'IF') return first === undefined ? undefined : first === 0 ? third : second;
    throw new Error(`${token} is not known in ${expression}`);
  };
  const product = (): number | undefined =>
    binary(primary, { '*': (a, b) => a * b, '/': (a, b) => (b === 0 ? undefined : a / b) });
  const sum = (): number | undefined => binary(product, { '+': (a, b) => a + b, '-': (a, b) => a - b });
  const comparison = (): number | undefined => binary(sum, { '>=': (a, b) => Number(a >= b) });
  const result = comparison();
  if (at !== tokens.length) throw new Error(`${tokens[at]} was not expected in ${expression}`);
  return result;
}
