import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import type { NewCertificate } from './certificate-fields.tsx';

const CREATE = graphql(`mutation CreateCertificate($input: CreateCertificateInput!) {
  createCertificate(input: $input) { certificate { id } }
}`);

/** Stores a certificate. `store` returns its id, or `null` if the service refused it. */
export function useStoreCertificate(projectId: string) {
  const { run, isBusy, error } = useMutation(CREATE);
  const store = async ({ filename, cert, name, privateKey }: NewCertificate) => {
    const input = { projectId, filename, cert, ...(name !== '' && { name }), ...(privateKey !== '' && { privateKey }) };
    return (await run({ input }))?.createCertificate.certificate.id ?? null;
  };
  return { store, isBusy, error };
}
