/**
 * Queries whose items stay the text that came over the wire. The SDK makes objects of every attribute,
 * which for a thousand heads takes more CPU than all the rest of a read; nearly all of them are those
 * that the last read gave, and need not be made again.
 */
import {
  type AttributeValue,
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
} from '@aws-sdk/client-dynamodb';
import type { Item } from './head-item.ts';

export interface QueryPage {
  /** Each in DynamoDB's JSON; {@link itemOfText} reads it. */
  readonly items: readonly string[];
  /** Where the next page begins. */
  readonly lastKey?: Item;
}

interface WireResponse {
  readonly statusCode: number;
  body: AsyncIterable<Uint8Array> | Uint8Array;
}

/**
 * One page of a query.
 *
 * @param isKnown whether an item of this very text was read before
 * @throws what the client throws
 */
export async function queryPage(
  client: DynamoDBClient,
  input: QueryCommandInput,
  isKnown: (text: string) => boolean,
): Promise<QueryPage> {
  let items: readonly string[] | undefined;
  const command = new QueryCommand(input);
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as WireResponse;
      if (response.statusCode !== 200) return result;
      const separated = separateItems(await bytesOf(response.body), isKnown);
      items = separated.items;
      // The SDK makes its objects of what is left.
      response.body = Buffer.from(JSON.stringify(separated.rest));
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'itemsStayText' },
  );
  const { Items = [], LastEvaluatedKey } = await client.send(command);
  return {
    items: items ?? Items.map(textOfItem),
    ...(LastEvaluatedKey === undefined ? {} : { lastKey: LastEvaluatedKey }),
  };
}

/** @param text as {@link queryPage} gives it */
export function itemOfText(text: string): Item {
  const item: Item = {};
  for (const [name, value] of Object.entries(JSON.parse(text) as Record<string, { readonly B?: string }>)) {
    item[name] = (value.B === undefined ? value : { B: Buffer.from(value.B, 'base64') }) as AttributeValue;
  }
  return item;
}

const ITEMS = Buffer.from('"Items":[');
/** Ends an item's last attribute and begins the next item: both engines and DynamoDB write no spaces. */
const BETWEEN_ITEMS = Buffer.from('}},{"');

/**
 * The items of a response, each as its text, and the response without them.
 *
 * Looks for the boundaries between items instead of parsing all of them. A string value may hold what
 * looks like a boundary, but then what is left of the cut is no JSON; so every text is parsed that is not
 * known, and if one fails, the whole response is parsed.
 */
export function separateItems(
  body: Buffer,
  isKnown: (text: string) => boolean,
): {
  readonly items: readonly string[];
  readonly rest: Readonly<Record<string, unknown>>;
} {
  const begin = body.indexOf(ITEMS);
  const first = begin + ITEMS.length;
  if (begin >= 0 && body[first] === OPEN) {
    const cuts: number[] = [];
    for (let at = body.indexOf(BETWEEN_ITEMS, first); at >= 0; at = body.indexOf(BETWEEN_ITEMS, at + 3))
      cuts.push(at + 2);
    const lastBegin = cuts.length === 0 ? first : (cuts.at(-1) ?? first) + 1;
    const end = endOfItem(body, lastBegin);
    if (end !== undefined && body[end] === CLOSE_LIST) {
      const items = [...cuts, end].map((cut, index) =>
        body.toString('utf8', index === 0 ? first : (cuts[index - 1] ?? 0) + 1, cut),
      );
      const rest = parsed(`${body.toString('utf8', 0, first)}${body.toString('utf8', end)}`);
      if (rest !== undefined && items.every((text) => isKnown(text) || parsed(text) !== undefined)) {
        const { Items: _, ...others } = rest;
        return { items, rest: others };
      }
    }
  }
  const { Items = [], ...rest } = JSON.parse(body.toString('utf8')) as {
    readonly Items?: readonly unknown[];
  };
  return { items: Items.map((item) => JSON.stringify(item)), rest };
}

const [OPEN, CLOSE, CLOSE_LIST, QUOTE, BACKSLASH] = [...Buffer.from('{}]"\\')];

/** The offset behind the object that begins at `from`. */
function endOfItem(body: Buffer, from: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = from; at < body.length; at++) {
    const byte = body[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN) depth++;
    else if (byte === CLOSE && --depth === 0) return at + 1;
  }
  return undefined;
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

function textOfItem(item: Item): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(item).map(([name, value]) => [
        name,
        value.B === undefined ? value : { B: Buffer.from(value.B).toString('base64') },
      ]),
    ),
  );
}

async function bytesOf(body: AsyncIterable<Uint8Array> | Uint8Array): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
