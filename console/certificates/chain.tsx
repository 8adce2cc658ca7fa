import { useTexts } from '../texts/texts.ts';
import { Facts } from '../ui/facts.tsx';
import { Time } from '../ui/time.tsx';
import type { Certificate } from './certificates-query.ts';
import { certificateTexts } from './texts.ts';

/** The name of a certificate, which opens its details and its chain. */
export function Chain({ certificate }: { readonly certificate: Certificate }) {
  const text = useTexts(certificateTexts);
  const { name, filename, subject, issuer, serialNumber, fingerprint256, keyType, keyBits } = certificate;
  return (
    <details className="certificate">
      <summary>{name}</summary>
      <Facts
        facts={[
          [text('filename'), filename],
          [text('subject'), subject],
          [text('issuer'), issuer],
          [text('serialNumber'), serialNumber],
          [text('fingerprint'), fingerprint256],
          [text('key'), keyBits === null ? keyType : text('bits', { keyType, keyBits })],
          [text('validFrom'), <Time key="from" at={certificate.validFrom} />],
        ]}
      >
        <dt>{text('chain')}</dt>
        <dd>
          {certificate.chain.length === 0 && text('noChain')}
          <ol className="plain">
            {certificate.chain.map((link) => (
              <li key={link.fingerprint256}>
                {link.subject}, {text('validTo')} <Time at={link.validTo} />
              </li>
            ))}
          </ol>
          {certificate.missingIssuer !== null && text('clientsNeed', { issuer: certificate.missingIssuer })}
        </dd>
      </Facts>
    </details>
  );
}
