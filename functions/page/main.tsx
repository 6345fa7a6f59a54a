/** The page: everything on it, in the order in which people look. */
import { type JSX, render } from 'preact';
import { ask } from './api/request.ts';
import { finishSignIn, isReturn } from './state/oidc.ts';
import { config } from './state/resources.ts';
import { type PageConfig, signOut, token } from './state/session.ts';
import { openView, view } from './state/view.ts';
import { Bundles } from './view/bundles.tsx';
import { Clusters } from './view/clusters.tsx';
import { Feed } from './view/feed.tsx';
import { Fit } from './view/fit.tsx';
import { Models } from './view/models.tsx';
import { Opened } from './view/opened.tsx';
import { SignIn } from './view/sign-in.tsx';
import { Truth } from './view/truth.tsx';

function Page(): JSX.Element {
  const settings = config.value;
  const signedOut = settings?.auth === 'tokens' && token.value === undefined;
  return (
    <>
      <header>
        <button type="button" class="skip" onClick={skip}>
          Skip to the clusters
        </button>
        <h1>Resource Map</h1>
        {settings?.auth === 'tokens' && !signedOut ? (
          <button type="button" onClick={() => signOut()}>
            Sign out
          </button>
        ) : null}
      </header>
      <main id="main">
        {settings === undefined ? (
          <p>Asking the service…</p>
        ) : signedOut ? (
          <SignIn />
        ) : (
          <>
            <Truth />
            <Models />
            <Fit />
            <Clusters />
            <Opened />
            <Bundles />
            <Feed />
          </>
        )}
      </main>
      <footer>
        <p>
          Times are UTC.{' '}
          {settings?.grafana === undefined ? null : <a href={settings.grafana}>History in Grafana</a>}{' '}
          <a href="/openapi.json">API</a> {settings === undefined ? '' : `Version ${settings.version}`}
        </p>
      </footer>
    </>
  );
}

/** Not a link: the fragment is the state of the view. */
function skip(): void {
  document.getElementById('clusters-title')?.focus();
}

/** `/` goes to the search, Escape closes the opened cluster: as in other tables of this kind. */
function onKey(event: KeyboardEvent): void {
  const typing =
    event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/') {
    event.preventDefault();
    document.getElementById('search')?.focus();
  } else if (event.key === 'Escape' && view.value.cluster !== '') {
    openView({ cluster: '' });
  }
}

/** The service may be away while the page is loaded from a cache. */
const RETRY_MS = 2_000;

async function loadConfig(): Promise<PageConfig> {
  for (;;) {
    try {
      const response = await ask<PageConfig>({ path: '/ui/config.json', token: undefined });
      if (response.kind === 'data') return response.data;
    } catch {
      // Tried again.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

addEventListener('keydown', onKey);
const root = document.getElementById('root');
if (root !== null) render(<Page />, root);
const returned = new URL(location.href);
const settings = await loadConfig();
if (isReturn(returned)) await finishSignIn(returned);
config.value = settings;
