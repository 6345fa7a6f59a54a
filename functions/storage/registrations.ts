/**
 * Registrations and token digests in a table of their own: every function may read it,
 * and only the one that manages access may write it, which a table that pushes write
 * could not promise.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type CreateTableCommandInput,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import type {
  AttributeRegistration,
  AttributeRegistrations,
  Registration,
  StaticToken,
  TokenMatch,
} from '../core/registration.ts';
import {
  attributesFromItem,
  attributesToItem,
  type Item,
  registrationFromItem,
  registrationToItem,
} from './registration-item.ts';
import { tableOfStrings } from './tables.ts';

export const REGISTRATIONS_KEY = { partition: 'kind', sort: 'id' } as const;
/** The attribute by which DynamoDB deletes tokens that have expired. */
export const REGISTRATIONS_TTL = 'expiresAt';

/** Registrations by an attribute for one issuer and audience: each request of theirs looks at all of them. */
export const MAX_ATTRIBUTE_REGISTRATIONS = 100;

/** Admins that change the registrations of one issuer at the same moment are few. */
const MAX_ATTEMPTS = 5;

/** What became of a new registration. */
export type Added = 'added' | 'exists' | 'other_keys' | 'too_many';

type Kind = 'registration' | 'token';
type RecordOf<K extends Kind> = K extends 'registration' ? Registration : StaticToken;

export class RegistrationStore {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly table: string,
  ) {}

  /** The registration of an identity, or nothing. One strongly consistent read unit. */
  async registration(issuer: string, audience: string, subject: string): Promise<Registration | undefined> {
    return this.#get('registration', registrationId(issuer, audience, { kind: 'subject', subject }));
  }

  /** The registrations by an attribute, or nothing. One strongly consistent read unit for each 4 KB of them. */
  async attributes(issuer: string, audience: string): Promise<AttributeRegistrations | undefined> {
    const id = attributesId(issuer, audience);
    const { Item: item } = await this.client.send(
      new GetItemCommand({ TableName: this.table, Key: keyOf('attributes', id), ConsistentRead: true }),
    );
    return item && attributesFromItem(item);
  }

  /** The token of which this is the SHA-256 in hex, or nothing. One strongly consistent read unit. */
  async token(digest: string): Promise<StaticToken | undefined> {
    return this.#get('token', digest);
  }

  /** All of a kind, the newest first. */
  async list<K extends Kind>(kind: K): Promise<readonly RecordOf<K>[]> {
    const records = (await this.#query(kind, '')) as RecordOf<K>[];
    if (kind === 'registration') records.push(...((await this.#allAttributes()) as RecordOf<K>[]));
    return records.sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  /** Keeps a new registration. Unless it is `added`, nothing is changed. */
  async register(registration: Registration): Promise<Added> {
    if (registration.match.kind === 'subject') return (await this.add(registration)) ? 'added' : 'exists';
    const added = registration as AttributeRegistration;
    const { issuer, audience, keys } = registration;
    return this.#changeAttributes(issuer, audience, (before): AttributeRegistrations | Added => {
      const registrations = before?.registrations ?? [];
      const present = registrations.find(({ id }) => id === registration.id);
      // As it is to be written: by an earlier attempt, whose response was lost.
      if (present !== undefined) return isDeepStrictEqual(present, registration) ? 'added' : 'exists';
      if (registrations.length >= MAX_ATTRIBUTE_REGISTRATIONS) return 'too_many';
      if (before !== undefined && JSON.stringify(before.keys) !== JSON.stringify(keys)) return 'other_keys';
      const id = attributesId(issuer, audience);
      return { kind: 'attributes', id, issuer, audience, keys, registrations: [...registrations, added] };
    });
  }

  /**
   * Keeps a new one. One that is there already as it is to be written is what an earlier attempt
   * of the SDK wrote, whose response was lost.
   *
   * @returns false where its id exists: nothing is changed then
   */
  async add(record: Registration | StaticToken): Promise<boolean> {
    try {
      await this.client.send(
        new PutItemCommand({
          TableName: this.table,
          Item: registrationToItem(record),
          ConditionExpression: 'attribute_not_exists(id)',
        }),
      );
      return true;
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return isDeepStrictEqual(await this.#get(record.kind, record.id), record);
    }
  }

  /**
   * Removes what the beginning of an id names.
   *
   * @returns how many there are of which the id begins so; one is removed if it is the only one
   */
  async remove(kind: Kind, idPrefix: string): Promise<number> {
    const found = await this.#query(kind, idPrefix);
    if (kind === 'registration') {
      found.push(...(await this.#allAttributes()).filter(({ id }) => id.startsWith(idPrefix)));
    }
    const [only] = found;
    if (only !== undefined && found.length === 1) {
      if (only.kind === 'registration' && only.match.kind !== 'subject') {
        await this.#changeAttributes(only.issuer, only.audience, (before) => {
          const registrations = before?.registrations.filter(({ id }) => id !== only.id) ?? [];
          return before === undefined ? 'exists' : { ...before, registrations };
        });
        return 1;
      }
      await this.client.send(new DeleteItemCommand({ TableName: this.table, Key: keyOf(kind, only.id) }));
    }
    return found.length;
  }

  async #get<K extends Kind>(kind: K, id: string): Promise<RecordOf<K> | undefined> {
    const { Item: item } = await this.client.send(
      new GetItemCommand({ TableName: this.table, Key: keyOf(kind, id), ConsistentRead: true }),
    );
    return item && (registrationFromItem(item) as RecordOf<K>);
  }

  /**
   * Changes the registrations of an issuer and audience, on the condition that they are still
   * the ones that were read.
   *
   * @param change what they shall be, or why they stay as they are
   */
  async #changeAttributes<Refusal extends string>(
    issuer: string,
    audience: string,
    change: (before: AttributeRegistrations | undefined) => AttributeRegistrations | Refusal,
  ): Promise<Refusal | 'added'> {
    for (let attempt = 1; ; attempt++) {
      const before = await this.attributes(issuer, audience);
      const after = change(before);
      if (typeof after === 'string') return after;
      try {
        const unchanged =
          before === undefined
            ? { ConditionExpression: 'attribute_not_exists(id)' }
            : {
                ConditionExpression: 'digest = :before',
                ExpressionAttributeValues: {
                  ':before': attributesToItem(before).digest as AttributeValue,
                },
              };
        if (after.registrations.length === 0) {
          const key = keyOf('attributes', after.id);
          await this.client.send(new DeleteItemCommand({ TableName: this.table, Key: key, ...unchanged }));
        } else {
          const item = attributesToItem(after);
          await this.client.send(new PutItemCommand({ TableName: this.table, Item: item, ...unchanged }));
        }
        return 'added';
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #allAttributes(): Promise<readonly Registration[]> {
    return (await this.#items('attributes', '')).flatMap((item) => attributesFromItem(item).registrations);
  }

  async #query(kind: Kind, idPrefix: string): Promise<(Registration | StaticToken)[]> {
    return (await this.#items(kind, idPrefix)).map(registrationFromItem);
  }

  async #items(kind: Kind | 'attributes', idPrefix: string): Promise<Item[]> {
    const items: Item[] = [];
    let from: Item | undefined;
    do {
      const page = await this.client.send(
        new QueryCommand({
          TableName: this.table,
          ConsistentRead: true,
          KeyConditionExpression:
            idPrefix === '' ? 'kind = :kind' : 'kind = :kind AND begins_with(id, :prefix)',
          ExpressionAttributeValues: {
            ':kind': { S: kind },
            ...(idPrefix === '' ? {} : { ':prefix': { S: idPrefix } }),
          },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        }),
      );
      items.push(...(page.Items ?? []));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return items;
  }
}

/** Length-prefixed, so that no two identities run together into the same id. */
export function registrationId(issuer: string, audience: string, match: TokenMatch): string {
  return digestOf([issuer, audience, ...partsOf(match)]);
}

function partsOf(match: TokenMatch): readonly string[] {
  switch (match.kind) {
    case 'subject':
      return [match.subject];
    case 'claim':
      return [match.kind, match.claim, match.value];
    case 'email_domain':
      return [match.kind, match.domain];
  }
}

/** Of what holds the registrations by an attribute. */
export function attributesId(issuer: string, audience: string): string {
  return digestOf([issuer, audience]);
}

function digestOf(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest('hex');
}

function keyOf(kind: Kind | 'attributes', id: string): Item {
  return { kind: { S: kind }, id: { S: id } };
}

/** For engines without infrastructure code of their own: the local service and the tests. */
export function registrationsTableDefinition(table: string): CreateTableCommandInput {
  return tableOfStrings(table, REGISTRATIONS_KEY);
}
