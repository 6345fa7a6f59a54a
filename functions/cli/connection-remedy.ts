/** What to do where a service cannot be spoken with. */
import { type ConnectionError, UnexpectedResponseError } from '../client/errors.ts';

/** Codes of Node's TLS: the certificate is not signed by a trusted CA. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const OUT_OF_DATE: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** What OpenSSL makes of a response in plain HTTP; which of them depends on its version. */
const NO_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'EPROTO',
]);

export function connectionRemedy(error: ConnectionError | UnexpectedResponseError): string {
  const code = systemCodeOf(error);
  if (UNTRUSTED.has(code)) {
    return 'The certificate is not signed by a trusted CA; set NODE_EXTRA_CA_CERTS=FILE to the certificate (PEM) of that CA.';
  }
  if (OUT_OF_DATE.has(code)) {
    return "The certificate is out of date by this machine's clock; the service needs another one, unless the clock is wrong.";
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'The certificate is for other names; --url or RMAP_URL takes one of those.';
  if (NO_TLS.has(code))
    return 'What answers there speaks no TLS; if it is the service, give --url with http://.';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_'))
    return 'The service and rmap found no way to speak TLS.';
  const address = '--url or RMAP_URL names the service, and begins with https:// where it speaks TLS.';
  if (error instanceof UnexpectedResponseError) return address;
  // A server that speaks TLS answers plain HTTP with bytes that are none, or hangs up.
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === NO_HTTP) {
    return `Something is there and hung up; ${address}`;
  }
  return 'Is the service running? npm start starts one; --url or RMAP_URL names another.';
}

/** Of a response that is no HTTP: the parser's own code is in some versions of Node, and differs. */
const NO_HTTP = 'NO_HTTP';

/** The code that the system gave the innermost cause, or nothing in quotes. */
function systemCodeOf(error: Error): string {
  let code = '';
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at.name === 'HTTPParserError') return NO_HTTP;
    if ('code' in at && typeof at.code === 'string') code = at.code;
  }
  return code;
}
