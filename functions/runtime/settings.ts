/** What a deployment gives its functions, through the environment. */

import type { OwnerLimit } from '../core/claims/admit.ts';
import type { ClaimSettings } from '../core/claims/evaluate.ts';
import { checkMembership, type Membership } from '../core/membership.ts';
import type { ClaimsTable } from '../storage/ledgers.ts';
import type { Tables } from '../storage/tables.ts';

/** @throws Error that names the variable which is missing or wrong */
export function tablesFromEnvironment(environment: NodeJS.ProcessEnv): Tables {
  return {
    heads: required(environment, 'HEADS_TABLE'),
    contents: required(environment, 'BODIES_TABLE'),
    shards: positiveInteger(environment, 'HEAD_SHARDS'),
  };
}

/** Of a function's memory: the rest is for Node itself, and for the response that is being made. */
const CACHE_SHARE = 0.3;

/** Where Lambda does not say how much memory there is. */
export const DEFAULT_CACHE_BYTES = 256 * 1024 * 1024;

/** Bytes of memory for bodies of the map. */
export function cacheBytesOf(environment: NodeJS.ProcessEnv): number {
  const memoryMb = Number(environment.AWS_LAMBDA_FUNCTION_MEMORY_SIZE);
  return memoryMb > 0 ? Math.floor(memoryMb * 1024 * 1024 * CACHE_SHARE) : DEFAULT_CACHE_BYTES;
}

/** @throws Error that names the variable which is missing or wrong; MembershipError */
export function membershipFromEnvironment(environment: NodeJS.ProcessEnv): Membership {
  return checkMembership({
    omitAfterMs: seconds(environment, 'OMIT_AFTER_SECONDS') * 1_000,
    retireAfterMs: seconds(environment, 'RETIRE_AFTER_SECONDS') * 1_000,
  });
}

/** Who may use the service. */
export interface RegistrationSettings {
  readonly table: string;
  /** SHA-256 in hex of the admin token that the deployment starts with. */
  readonly adminTokenSha256?: string;
}

/** @throws Error that names the variable which is missing or wrong */
export function registrationsFromEnvironment(environment: NodeJS.ProcessEnv): RegistrationSettings {
  const table = required(environment, 'TRUST_TABLE');
  const digest = environment.ADMIN_TOKEN_SHA256 ?? '';
  if (digest === '') return { table };
  return { table, adminTokenSha256: checkSha256('The environment variable ADMIN_TOKEN_SHA256', digest) };
}

/** @throws Error that says what `name` must be */
export function checkSha256(name: string, digest: string): string {
  if (/^[0-9a-f]{64}$/.test(digest)) return digest;
  throw new Error(
    `${name} is no SHA-256 in lower-case hex; "rmap token generate" makes a token and its digest.`,
  );
}

/**
 * Milliseconds by which an agent's clock may be ahead of the service's.
 *
 * @throws Error that names the variable which is missing or wrong
 */
export function maxFutureSkewFromEnvironment(environment: NodeJS.ProcessEnv): number {
  return seconds(environment, 'MAX_CLOCK_AHEAD_SECONDS') * 1_000;
}

/** @throws Error that names the variable which is missing or wrong */
export function omitAfterFromEnvironment(environment: NodeJS.ProcessEnv): number {
  return seconds(environment, 'OMIT_AFTER_SECONDS') * 1_000;
}

/**
 * Seconds for which a response is held at most; 0 holds none.
 *
 * @throws Error that names the variable which is missing or wrong
 */
export function longestWaitFromEnvironment(environment: NodeJS.ProcessEnv): number {
  return seconds(environment, 'LONGEST_WAIT_SECONDS');
}

/** @throws Error that names the variable which is missing */
export function poolsTableFromEnvironment(environment: NodeJS.ProcessEnv): string {
  return required(environment, 'POOLS_TABLE');
}

/** @throws Error that names the variable which is missing */
export function bundlesTableFromEnvironment(environment: NodeJS.ProcessEnv): string {
  return required(environment, 'BUNDLES_TABLE');
}

/** Where claims are, and what ends them. */
export interface ClaimsFromEnvironment {
  readonly table: ClaimsTable;
  readonly settings: ClaimSettings & OwnerLimit;
}

/** @throws Error that names the variable which is missing or wrong */
export function claimsFromEnvironment(environment: NodeJS.ProcessEnv): ClaimsFromEnvironment {
  return {
    table: {
      name: required(environment, 'CLAIMS_TABLE'),
      shards: positiveInteger(environment, 'HEAD_SHARDS'),
    },
    settings: {
      maxClockAheadMs: maxFutureSkewFromEnvironment(environment),
      retireAfterMs: seconds(environment, 'RETIRE_AFTER_SECONDS') * 1_000,
      ...(environment.MAX_OWNER_ACCELERATORS === undefined
        ? {}
        : { maxOwnerAccelerators: positiveInteger(environment, 'MAX_OWNER_ACCELERATORS') }),
    },
  };
}

/** Settings of the consumer of the heads' stream. */
export interface NotifySettings {
  readonly tables: Tables;
  readonly busName: string;
  readonly announceRefreshes: boolean;
  /** The table whose records are of claims. */
  readonly claimsTable: string;
}

/** @throws Error that names the variable which is missing or wrong */
export function notifyFromEnvironment(environment: NodeJS.ProcessEnv): NotifySettings {
  return {
    tables: tablesFromEnvironment(environment),
    busName: required(environment, 'EVENT_BUS_NAME'),
    announceRefreshes: onOrOff(environment, 'ANNOUNCE_REFRESHES'),
    claimsTable: required(environment, 'CLAIMS_TABLE'),
  };
}

/** Settings of the page beyond the service's own address. */
export interface PageLinks {
  /** The OpenID provider with which people sign in, and the page's client id there. */
  readonly oidc?: { readonly issuer: string; readonly clientId: string };
  /** Where the history is. */
  readonly grafana?: string;
}

/** The stack has checked the values. */
export function pageFromEnvironment(environment: NodeJS.ProcessEnv): PageLinks {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, GRAFANA_URL: grafana } = environment;
  return {
    ...(issuer && clientId ? { oidc: { issuer, clientId } } : {}),
    ...(grafana ? { grafana } : {}),
  };
}

function required(environment: NodeJS.ProcessEnv, name: string): string {
  const value = environment[name];
  if (value !== undefined && value !== '') return value;
  throw new Error(`The environment variable ${name} is not set; the deployed stack sets it.`);
}

function onOrOff(environment: NodeJS.ProcessEnv, name: string): boolean {
  const value = required(environment, name);
  if (value === 'true' || value === 'false') return value === 'true';
  throw new Error(`The environment variable ${name} is ${JSON.stringify(value)}; it must be true or false.`);
}

function seconds(environment: NodeJS.ProcessEnv, name: string): number {
  const value = required(environment, name);
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new Error(
    `The environment variable ${name} is ${JSON.stringify(value)}; it must be a number of seconds without a fraction.`,
  );
}

function positiveInteger(environment: NodeJS.ProcessEnv, name: string): number {
  const value = required(environment, name);
  if (/^[1-9]\d{0,3}$/.test(value)) return Number(value);
  throw new Error(
    `The environment variable ${name} is ${JSON.stringify(value)}; it must be an integer from 1 to 9999.`,
  );
}
