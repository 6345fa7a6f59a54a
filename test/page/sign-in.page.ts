import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { newToken, tokenDigest } from '../../functions/auth/static-token.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { chromiumPath, keptBy, newPage, useBrowser, violations } from './browser.ts';
import { CLIENT_ID, startProvider } from './provider.ts';
import { push, SILENT, samples, serve } from './services.ts';

useBrowser();

interface Guarded {
  readonly url: string;
  readonly admin: string;
  issue(role: string, clusterId?: string): Promise<{ secret: string; id: string }>;
}

async function guarded(options: Parameters<typeof serve>[0] = {}): Promise<Guarded> {
  const admin = newToken();
  const service = await serve({
    ...options,
    access: { kind: 'tokens', adminTokenSha256: tokenDigest(admin) },
  });
  return { url: service.url, admin, issue: issuer(service, admin) };
}

function issuer({ url }: LocalService, admin: string): Guarded['issue'] {
  return async (role, clusterId = '') => {
    const { secret, token } = (await post(url, admin, '/v1/tokens', { role: `ROLE_${role}`, clusterId })) as {
      secret: string;
      token: { id: string };
    };
    return { secret, id: token.id };
  };
}

async function post(url: string, token: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

async function pushAllAs({ url, issue }: Guarded): Promise<void> {
  for (const snapshot of samples()) {
    await push(url, snapshot, (await issue('AGENT', snapshot.cluster.clusterId)).secret);
  }
}

async function paste(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Use this token' }).click();
}

describe.skipIf(chromiumPath === undefined)('Signing in', () => {
  it('with a pasted token shows the view that the URL names, and keeps the token in this tab alone', async () => {
    const service = await guarded();
    await pushAllAs(service);
    const viewer = await service.issue('VIEWER');
    const { page } = await newPage();
    await page.goto(`${service.url}/#search=kops`);
    await page.locator('#sign-in').waitFor();
    expect(await violations(page)).toEqual([]);

    await paste(page, viewer.secret);

    await expect.poll(() => page.locator('#clusters tbody tr').count()).toBe(1);
    expect(await page.locator('#clusters tbody tr').getAttribute('data-cluster')).toBe('kops-l4');
    await page.reload();
    await page.locator('#clusters tbody tr').first().waitFor();
    expect(await keptBy(page)).toEqual({ local: 0, session: 1, cookie: '' });
    expect(page.url()).toBe(`${service.url}/#search=kops`);
    const another = await page.context().newPage();
    await another.goto(service.url);
    await another.locator('#sign-in').waitFor();
  });

  it('is asked for again, with the reason, once a token is revoked; nothing stays on the page', async () => {
    const service = await guarded();
    await pushAllAs(service);
    const viewer = await service.issue('VIEWER');
    const { page } = await newPage();
    await page.goto(`${service.url}/#search=kops`);
    await paste(page, viewer.secret);
    await page.locator('#clusters tbody tr').first().waitFor();

    const { status } = await fetch(`${service.url}/v1/tokens/${viewer.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${service.admin}` },
    });
    expect(status).toBe(204);

    await expect
      .poll(() => page.locator('#sign-in [role=alert]').innerText(), { timeout: 30_000 })
      .toBe('✕ The token is unknown or revoked.');
    expect(await page.locator('#clusters').count()).toBe(0);
    expect(new URL(page.url()).hash).toBe('#search=kops');
    expect((await keptBy(page)).session).toBe(0);
  });

  it('refuses a token that the service does not know', async () => {
    const service = await guarded();
    const { page } = await newPage();
    await page.goto(service.url);
    await paste(page, 'rmap_wrong');
    await expect
      .poll(() => page.locator('#sign-in [role=alert]').innerText())
      .toBe('✕ The token is unknown or revoked.');
  });

  it('with an OpenID provider, by a group, comes back to the view that it began in', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const provider = await startProvider(`${url}/ui`, { ada: ['ml-engineers'], eve: ['sales'] });
    const service = await guarded({ port, page: { oidc: { issuer: provider, clientId: CLIENT_ID } } });
    await pushAllAs(service);
    await post(url, service.admin, '/v1/registrations', {
      issuer: provider,
      audience: CLIENT_ID,
      claim: 'groups',
      claimValue: 'ml-engineers',
      role: 'ROLE_VIEWER',
    });

    const { page } = await newPage();
    await page.goto(`${url}/#search=kops`);
    await signInAs(page, 'ada');
    await expect.poll(() => page.locator('#clusters tbody tr').count(), { timeout: 20_000 }).toBe(1);
    expect(page.url()).toBe(`${url}/ui#search=kops`);
    expect(await keptBy(page)).toEqual({ local: 0, session: 1, cookie: '' });

    const { page: other } = await newPage();
    await other.goto(url);
    await signInAs(other, 'eve');
    await expect
      .poll(() => other.locator('#sign-in [role=alert]').innerText(), { timeout: 20_000 })
      .toMatch(/^✕ The token is genuine, but no registration is for the subject "eve", nor for a group/);
  });

  it('is not taken from another tab’s sign-in, nor from a made-up return', async () => {
    const service = await guarded();
    const { page } = await newPage();
    await page.goto(`${service.url}/ui?code=stolen&state=guessed`);
    await expect
      .poll(() => page.locator('#sign-in [role=alert]').innerText())
      .toBe('✕ This sign-in did not begin in this tab. Sign in again.');
    expect(page.url()).toBe(`${service.url}/ui`);
  });
});

async function signInAs(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in with' }).click();
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** A port that was free a moment ago: the provider must know the page's address before the page is served. */
async function freePort(): Promise<number> {
  const service = await startService({
    engine: { kind: 'memory' },
    port: 0,
    host: '127.0.0.1',
    telemetry: SILENT,
  });
  await service.close();
  return Number(new URL(service.url).port);
}
