/**
 * Sign-in with an OpenID provider: authorization code with PKCE (RFC 7636), as a public client.
 * What is sent to the service is the ID token: its audience is this page's client and nobody else's.
 */
import * as oauth from 'oauth4webapi';
import { signIn, signInFault } from './session.ts';

interface Pending {
  readonly issuer: string;
  readonly clientId: string;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** Fragment of the view to come back to. */
  readonly fragment: string;
}

const KEY = 'resource-map-sign-in';
/** Groups and e-mail address are what registrations by an attribute read. */
const SCOPE = 'openid email profile';

/** The address that is registered with the provider. */
function redirectUri(): string {
  return `${location.origin}/ui`;
}

function isLoopback(url: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
}

async function discover(issuerText: string): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(issuerText);
  const response = await oauth.discoveryRequest(issuer, options(issuer));
  return oauth.processDiscoveryResponse(issuer, response);
}

/** Plain http is for a provider on this machine alone, as tests and trials have it. */
function options(issuer: URL): { [oauth.allowInsecureRequests]?: boolean } {
  return issuer.protocol === 'http:' && isLoopback(issuer) ? { [oauth.allowInsecureRequests]: true } : {};
}

/** Leaves the page for the provider's. */
export async function beginSignIn({ issuer, clientId }: { issuer: string; clientId: string }): Promise<void> {
  const server = await discover(issuer);
  if (server.authorization_endpoint === undefined)
    throw new Error('The provider has no authorization endpoint.');
  const pending: Pending = {
    issuer,
    clientId,
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    fragment: location.hash,
  };
  sessionStorage.setItem(KEY, JSON.stringify(pending));
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri(),
    response_type: 'code',
    scope: SCOPE,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/** Whether the URL is one that a provider sent the browser back to. */
export function isReturn(url: URL): boolean {
  return url.searchParams.has('state') && (url.searchParams.has('code') || url.searchParams.has('error'));
}

/** Ends a sign-in that the provider sent back, and restores the view that it began in. */
export async function finishSignIn(url: URL): Promise<void> {
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  const pending = text === null ? undefined : (JSON.parse(text) as Pending);
  // The code must not stay in the history, nor be tried twice by a reload.
  history.replaceState(null, '', `/ui${pending?.fragment ?? ''}`);
  dispatchEvent(new HashChangeEvent('hashchange'));
  if (pending === undefined) {
    signInFault.value = 'This sign-in did not begin in this tab. Sign in again.';
    return;
  }
  try {
    const issuer = new URL(pending.issuer);
    const client: oauth.Client = { client_id: pending.clientId };
    const server = await discover(pending.issuer);
    const returned = oauth.validateAuthResponse(server, client, url, pending.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      returned,
      redirectUri(),
      pending.verifier,
      options(issuer),
    );
    const result = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: pending.nonce,
      requireIdToken: true,
    });
    if (result.id_token === undefined) throw new Error('The provider gave no ID token.');
    signIn(result.id_token);
  } catch (error) {
    signInFault.value = `The sign-in failed: ${(error as Error).message}`;
  }
}
