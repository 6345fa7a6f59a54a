/** A bearer token from a file, such as the one that a kubelet projects into a pod and writes again before it expires. */
import { readFile } from 'node:fs/promises';
import { bearerToken } from '../auth/bearer.ts';
import { UsageError } from './failure.ts';
import { systemReason } from './input-file.ts';

/** A token file that cannot be used at the moment. */
export class TokenFileError extends UsageError {}

/**
 * Reads the token that the file has now. White space around it does not matter.
 *
 * @throws TokenFileError for a file that cannot be read or holds no token; what it holds is never shown
 */
export async function readTokenFile(file: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new TokenFileError(
      `The token file ${file} cannot be read: ${systemReason(cause)}. --token-file takes the file that a token is in.`,
      { cause },
    );
  }
  if (text === '') {
    throw new TokenFileError(`The token file ${file} is empty; write the token into it, and nothing else.`);
  }
  try {
    return bearerToken(`Bearer ${text}`);
  } catch (cause) {
    throw new TokenFileError(
      `The token file ${file} holds ${text.length} characters that are not a valid bearer token; write the token into it, and nothing else.`,
      { cause },
    );
  }
}
