import { builder, signedIn } from '../../../gateway/graphql/builder.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { factsOf } from '../../../protocol/certificates/certificate-facts.ts';
import { readMaterial } from '../../../protocol/certificates/certificate-material.ts';
import { CertificateInfo } from './certificate-schema.ts';

/** Cost of verifying a chain of 20 certificates, the maximum: about 16 ms. */
const CHAIN_COST = 400;

builder.queryFields((t) => ({
  previewCertificate: t.field({
    description:
      'The first certificate of a PEM text, of any age and strength. Stores nothing. INVALID if the text does not contain a certificate with its chain, or if a key is too large.',
    type: CertificateInfo,
    ...signedIn,
    complexity: CHAIN_COST,
    args: {
      cert: t.arg.string({
        description:
          'PEM: the certificate, followed by its chain, as in `createCertificate`. No private key is required.',
        required: true,
      }),
    },
    resolve: async (_root, { cert }) => factsOf((await runInSlices(readMaterial({ cert }))).leaf),
  }),
}));
