/** Signing in: with the deployment's identity provider, or with a token of the service's own. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { beginSignIn } from '../state/oidc.ts';
import { config } from '../state/resources.ts';
import { signIn, signInFault } from '../state/session.ts';
import { visible } from '../text/visible.ts';

export function SignIn(): JSX.Element {
  const pasted = useSignal('');
  const oidc = config.value?.oidc;
  const fault = signInFault.value;
  return (
    <section id="sign-in" aria-labelledby="sign-in-title">
      <h2 id="sign-in-title">Sign in</h2>
      {fault === undefined ? (
        <p>The service shows the map to whom it knows.</p>
      ) : (
        <p class="fault" role="alert">
          ✕ {visible(fault)}
        </p>
      )}
      {oidc === undefined ? null : (
        <p>
          <button
            type="button"
            onClick={() => {
              beginSignIn(oidc).catch((error: Error) => {
                signInFault.value = `The identity provider cannot be reached: ${error.message}`;
              });
            }}
          >
            Sign in with {new URL(oidc.issuer).host}
          </button>
        </p>
      )}
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          const token = pasted.value.trim();
          if (token !== '') signIn(token);
        }}
      >
        <label>
          Token
          <input
            type="password"
            name="token"
            autocomplete="off"
            value={pasted.value}
            onInput={(event) => {
              pasted.value = event.currentTarget.value;
            }}
          />
        </label>
        <button type="submit">Use this token</button>
      </form>
      <p>
        <small>
          Any role that reads will do; <code>viewer</code> is made for people. The token stays in this tab and
          goes with it.
        </small>
      </p>
    </section>
  );
}
