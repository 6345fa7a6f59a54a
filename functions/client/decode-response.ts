/** Reads the message that an answer is, or says that something else answered: a proxy's page is no empty list. */
import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { UnexpectedAnswerError } from './errors.ts';
import type { HttpAnswer, HttpRequest } from './transport.ts';

export const PROTOBUF = 'application/x-protobuf';

/** @throws UnexpectedAnswerError */
export function decodeAnswer<D extends DescMessage>(
  schema: D,
  request: HttpRequest,
  answer: HttpAnswer,
): MessageShape<D> {
  const type = answer.headers.get('content-type')?.split(';', 1)[0] ?? 'absent';
  if (type !== PROTOBUF) {
    throw new UnexpectedAnswerError(
      request.method,
      answer.url,
      `the Content-Type is ${type}, not ${PROTOBUF}`,
    );
  }
  try {
    return fromBinary(schema, answer.body);
  } catch (cause) {
    throw new UnexpectedAnswerError(request.method, answer.url, `the body is no ${schema.typeName}`, {
      cause,
    });
  }
}
