/** Who makes a request. */
import type { Rights } from '../core/registration.ts';

/** Whom a token names. */
export interface Caller {
  readonly kind: 'caller';
  /** Of the registration or token; for logs and for the record of who made what. */
  readonly id: string;
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
