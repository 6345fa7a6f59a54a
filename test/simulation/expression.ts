/**
 * DynamoDB's condition and key condition expressions, as far as the service uses them:
 * comparisons, attribute_exists, attribute_not_exists, begins_with, AND, OR, NOT and parentheses.
 * Source: "Condition and filter expressions", Amazon DynamoDB Developer Guide.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { compareValues, type Item } from './values.ts';

export interface Bindings {
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, AttributeValue>>;
}

type Predicate = (item: Item | undefined) => boolean;

const TOKEN = /\s*(?:(<=|>=|<>|[=<>(),])|([#:]?[A-Za-z_][\w.]*))/y;

/** @throws Error for syntax that the model does not know: an expression must never be guessed at */
export function parseCondition(text: string, bindings: Bindings): Predicate {
  const tokens = tokenize(text);
  let at = 0;
  const peek = (): string | undefined => tokens[at];
  const next = (): string => {
    const token = tokens[at++];
    if (token === undefined) throw new Error(`The expression ends early: ${text}`);
    return token;
  };
  const expect = (wanted: string): void => {
    const token = next();
    if (token !== wanted) throw new Error(`Expected ${wanted} and found ${token} in: ${text}`);
  };
  const keyword = (): string | undefined => peek()?.toUpperCase();

  const disjunction = (): Predicate => {
    let left = conjunction();
    while (keyword() === 'OR') {
      next();
      const [a, b] = [left, conjunction()];
      left = (item) => a(item) || b(item);
    }
    return left;
  };
  const conjunction = (): Predicate => {
    let left = negation();
    while (keyword() === 'AND') {
      next();
      const [a, b] = [left, negation()];
      left = (item) => a(item) && b(item);
    }
    return left;
  };
  const negation = (): Predicate => {
    if (keyword() !== 'NOT') return primary();
    next();
    const inner = primary();
    return (item) => !inner(item);
  };
  const primary = (): Predicate => {
    if (peek() === '(') {
      next();
      const inner = disjunction();
      expect(')');
      return inner;
    }
    const token = next();
    switch (token) {
      case 'attribute_exists':
      case 'attribute_not_exists': {
        expect('(');
        const name = attribute(next());
        expect(')');
        const wanted = token === 'attribute_exists';
        return (item) => (item?.[name] !== undefined) === wanted;
      }
      case 'begins_with': {
        expect('(');
        const name = attribute(next());
        expect(',');
        const prefix = operand(next())(undefined)?.S ?? '';
        expect(')');
        return (item) => item?.[name]?.S?.startsWith(prefix) ?? false;
      }
      default:
        return comparison(token);
    }
  };
  const comparison = (left: string): Predicate => {
    const [a, operator, b] = [operand(left), next(), operand(next())];
    return (item) => {
      const [x, y] = [a(item), b(item)];
      const order = x === undefined || y === undefined ? undefined : compareValues(x, y);
      // What is absent, or of another type, is unequal, and neither before nor after.
      if (order === undefined) return operator === '<>';
      switch (operator) {
        case '=':
          return order === 0;
        case '<>':
          return order !== 0;
        case '<':
          return order < 0;
        case '<=':
          return order <= 0;
        case '>':
          return order > 0;
        case '>=':
          return order >= 0;
        default:
          throw new Error(`The model does not know the operator ${operator} of: ${text}`);
      }
    };
  };
  const attribute = (token: string): string => {
    if (!token.startsWith('#')) return token;
    const name = bindings.names[token];
    if (name === undefined) throw new Error(`No name is given for ${token} of: ${text}`);
    return name;
  };
  const operand = (token: string): ((item: Item | undefined) => AttributeValue | undefined) => {
    if (token.startsWith(':')) {
      const value = bindings.values[token];
      if (value === undefined) throw new Error(`No value is given for ${token} of: ${text}`);
      return () => value;
    }
    const name = attribute(token);
    return (item) => item?.[name];
  };

  const predicate = disjunction();
  if (peek() !== undefined) throw new Error(`The model does not know ${peek()} of: ${text}`);
  return predicate;
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const start = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new Error(`The model cannot read the expression from ${start}: ${text}`);
    tokens.push(match[1] ?? match[2] ?? '');
  }
  return tokens;
}
