/** Whether the local service asks for tokens. */
export type LocalAccess =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'tokens';
      /** SHA-256 in hex of the first admin's token; absent: one is made where there is no admin yet. */
      readonly adminTokenSha256?: string;
    };
