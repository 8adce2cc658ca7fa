import { useTexts } from '../texts/texts.ts';
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
      <dl>
        <dt>{text('filename')}</dt>
        <dd>{filename}</dd>
        <dt>{text('subject')}</dt>
        <dd>{subject}</dd>
        <dt>{text('issuer')}</dt>
        <dd>{issuer}</dd>
        <dt>{text('serialNumber')}</dt>
        <dd>{serialNumber}</dd>
        <dt>{text('fingerprint')}</dt>
        <dd>{fingerprint256}</dd>
        <dt>{text('key')}</dt>
        <dd>{keyBits === null ? keyType : text('bits', { keyType, keyBits })}</dd>
        <dt>{text('validFrom')}</dt>
        <dd>
          <Time at={certificate.validFrom} />
        </dd>
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
      </dl>
    </details>
  );
}
