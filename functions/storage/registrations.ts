/**
 * Registrations and token digests in a table of their own: every function may read it,
 * and only the one that manages access may write it, which a table that pushes write
 * could not promise.
 */
import { createHash } from 'node:crypto';
import {
  ConditionalCheckFailedException,
  type CreateTableCommandInput,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import type { Registration, StaticToken } from '../core/registration.ts';
import { type Item, registrationFromItem, registrationToItem } from './registration-item.ts';
import { tableOfStrings } from './tables.ts';

export const REGISTRATIONS_KEY = { partition: 'kind', sort: 'id' } as const;
/** The attribute by which DynamoDB deletes tokens that have expired. */
export const REGISTRATIONS_TTL = 'expiresAt';

type Kind = 'registration' | 'token';
type RecordOf<K extends Kind> = K extends 'registration' ? Registration : StaticToken;

export class RegistrationStore {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly table: string,
  ) {}

  /** The registration of an identity, or nothing. One strongly consistent read unit. */
  async registration(issuer: string, audience: string, subject: string): Promise<Registration | undefined> {
    return this.#get('registration', registrationId(issuer, audience, subject));
  }

  /** The token of which this is the SHA-256 in hex, or nothing. One strongly consistent read unit. */
  async token(digest: string): Promise<StaticToken | undefined> {
    return this.#get('token', digest);
  }

  /** All of a kind, the newest first. */
  async list<K extends Kind>(kind: K): Promise<readonly RecordOf<K>[]> {
    const records = (await this.#query(kind, '')) as RecordOf<K>[];
    return records.sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  /** Keeps a new one. @returns false where its id exists: nothing is changed then */
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
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }

  /**
   * Removes what the beginning of an id names.
   *
   * @returns how many there are of which the id begins so; one is removed if it is the only one
   */
  async remove(kind: Kind, idPrefix: string): Promise<number> {
    const found = await this.#query(kind, idPrefix);
    const [only] = found;
    if (only !== undefined && found.length === 1) {
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

  async #query(kind: Kind, idPrefix: string): Promise<(Registration | StaticToken)[]> {
    const records: (Registration | StaticToken)[] = [];
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
      for (const item of page.Items ?? []) records.push(registrationFromItem(item));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return records;
  }
}

/** Length-prefixed, so that no two identities run together into the same id. */
export function registrationId(issuer: string, audience: string, subject: string): string {
  const hash = createHash('sha256');
  for (const part of [issuer, audience, subject]) {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest('hex');
}

function keyOf(kind: Kind, id: string): Item {
  return { kind: { S: kind }, id: { S: id } };
}

/** For engines without infrastructure code of their own: the local service and the tests. */
export function registrationsTableDefinition(table: string): CreateTableCommandInput {
  return tableOfStrings(table, REGISTRATIONS_KEY);
}
