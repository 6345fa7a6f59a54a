/**
 * Takes the place of `@aws-sdk/credential-provider-node` in the bundles. Lambda gives a
 * function its credentials in the environment and nowhere else; the chain that looks
 * for profiles, single sign-on, web identities and instance metadata is a quarter of a
 * bundle's bytes, and of the time to load it.
 */
import { fromEnv } from '@aws-sdk/credential-provider-env';

/** What the SDK's clients ask for when they are given no credentials. */
export const defaultProvider = (): ReturnType<typeof fromEnv> => fromEnv();
