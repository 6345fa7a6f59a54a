/** What every token is refused with whose signature was not verified. */
export const UNVERIFIED =
  'The token is not signed by a key of a registered issuer for its audience and subject. An admin can list the ' +
  'registrations (rmap trust list) and find the reason in the log of the service by the request id.';
