/**
 * Who looks: nobody yet, or somebody with a token. The token is kept for this tab alone
 * (sessionStorage): it ends with the tab, and no other tab can read it.
 */
import { signal } from '@preact/signals';

/** What a deployment says of its sign-in: the response of `/ui/config.json`. */
export interface PageConfig {
  /** Whether the service asks for tokens at all. */
  readonly auth: 'open' | 'tokens';
  readonly oidc?: { readonly issuer: string; readonly clientId: string };
  readonly version: string;
  readonly grafana?: string;
}

const KEY = 'resource-map-token';

export const token = signal<string | undefined>(sessionStorage.getItem(KEY) ?? undefined);
/** Why somebody has to sign in (again); absent on the first visit. */
export const signInFault = signal<string | undefined>(undefined);

export function signIn(value: string): void {
  sessionStorage.setItem(KEY, value);
  signInFault.value = undefined;
  token.value = value;
}

/** @param fault why, if it was not the user's wish */
export function signOut(fault?: string): void {
  sessionStorage.removeItem(KEY);
  signInFault.value = fault;
  token.value = undefined;
}
