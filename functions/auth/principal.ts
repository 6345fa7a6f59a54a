/** Who makes a request. */
import { createHash } from 'node:crypto';
import type { Rights } from '../core/registration.ts';

/** Whom a token names. */
export interface Caller {
  readonly kind: 'caller';
  /** Of the registration or token; for logs and for the record of who made what. */
  readonly id: string;
  /** Whose claims these are, where the id is not of one identity for good: issuer and subject. */
  readonly owner?: string;
  readonly rights: Rights;
}

/** `anyone`: no token was asked for. */
export type Principal = { readonly kind: 'anyone' } | Caller;

export const ANYONE: Principal = { kind: 'anyone' };

/** Whether they may know of this cluster: an agent knows its own and no other. */
export function maySeeCluster(principal: Principal, clusterId: string): boolean {
  if (principal.kind === 'anyone' || principal.rights.role !== 'agent') return true;
  return principal.rights.clusterId === clusterId;
}

/** The owner of what a request makes; without tokens there is one caller. */
export function ownerOf(principal: Principal): string {
  if (principal.kind === 'anyone') return 'anyone';
  return cutOwner(principal.owner ?? principal.id);
}

/** Characters of an owner in a ledger; of a longer one the digest is as good a name. */
const MAX_OWNER_CHARS = 200;

function cutOwner(owner: string): string {
  if (owner.length <= MAX_OWNER_CHARS) return owner;
  return `sha256:${createHash('sha256').update(owner).digest('hex')}`;
}
