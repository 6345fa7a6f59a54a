/** What the routes of an admin take and answer, for the OpenAPI document. */
import {
  IssuedTokenSchema,
  IssueTokenRequestSchema,
  RegistrationListSchema,
  RegistrationSchema,
  TokenListSchema,
} from '../../gen/resourcemap/v1/access_pb.ts';
import { MESSAGE_HEADERS, type Operations } from '../../openapi/operation.ts';

const GONE = { description: 'It is gone, and refused everywhere within 30 seconds.' };

export const ACCESS_OPERATIONS = {
  'POST /v1/registrations': {
    id: 'addRegistration',
    tag: 'access',
    summary: 'Register an identity, or all that have an attribute',
    description:
      'Binds issuer, audience and subject of an OIDC identity to a role, or instead of the subject a claim or a ' +
      'verified e-mail domain. `id`, `createdAt` and `createdBy` are set by ' +
      'the service.',
    body: RegistrationSchema,
    example: {
      issuer: 'https://oidc.eks.eu-west-1.amazonaws.com/id/ABC',
      audience: 'resource-map',
      subject: 'system:serviceaccount:monitoring:agent',
      role: 'ROLE_AGENT',
      clusterId: 'kops-l4',
    },
    responses: {
      201: { description: 'The registration.', body: RegistrationSchema, headers: MESSAGE_HEADERS },
    },
    problems: ['invalid_grant_request', 'grant_exists'],
  },
  'GET /v1/registrations': {
    id: 'listRegistrations',
    tag: 'access',
    summary: 'List the registrations',
    description: 'All identities that others vouch for.',
    responses: {
      200: { description: 'All of them.', body: RegistrationListSchema, headers: MESSAGE_HEADERS },
    },
    problems: [],
  },
  'DELETE /v1/registrations/{id}': {
    id: 'removeRegistration',
    tag: 'access',
    summary: 'Remove a registration',
    description: 'An id of which several registrations have the beginning is refused.',
    responses: { 204: GONE },
    problems: ['grant_not_found'],
  },
  'POST /v1/tokens': {
    id: 'issueToken',
    tag: 'access',
    summary: 'Issue a token',
    description: 'The token is in the response, this once: the service keeps its digest alone.',
    body: IssueTokenRequestSchema,
    example: { role: 'ROLE_SCHEDULER', note: 'the scheduler in eu-west-1', lifetime: '2592000s' },
    responses: {
      201: { description: 'The token.', body: IssuedTokenSchema, headers: MESSAGE_HEADERS },
    },
    problems: ['invalid_grant_request'],
  },
  'GET /v1/tokens': {
    id: 'listTokens',
    tag: 'access',
    summary: 'List the tokens',
    description: 'All tokens that the service issued, expired ones too, without the tokens themselves.',
    responses: {
      200: { description: 'All of them.', body: TokenListSchema, headers: MESSAGE_HEADERS },
    },
    problems: [],
  },
  'DELETE /v1/tokens/{id}': {
    id: 'revokeToken',
    tag: 'access',
    summary: 'Revoke a token',
    description: 'An id of which several tokens have the beginning is refused.',
    responses: { 204: GONE },
    problems: ['grant_not_found'],
  },
} as const satisfies Operations;
