import type { Registry } from 'prom-client';
import { readGauge } from '../../platform/read-metrics.ts';
import type { CertificateRecord } from './certificate-cache.ts';
import { DAY_MS } from './days-left.ts';

type CertificateMetricSource = () => readonly CertificateRecord[];

const MAX_SERIES = 1_000;

export function registerCertificateMetrics(source: CertificateMetricSource, registry: Registry): void {
  readGauge(registry, {
    name: 'brokergraph_certificates',
    help: 'Number of certificates, by whether they are deployed on a listener',
    read: () => {
      const all = source();
      const deployed = all.filter(isDeployed).length;
      return [
        [{ deployed: 'true' }, deployed],
        [{ deployed: 'false' }, all.length - deployed],
      ];
    },
  });
  readGauge(registry, {
    name: 'brokergraph_certificate_days_left',
    help: `Days until the first certificate of the chain expires. Negative after it has expired. Only the ${MAX_SERIES} certificates that expire first`,
    read: () => {
      const now = Date.now();
      const first = [...source()].sort((a, b) => a.expiresAt - b.expiresAt).slice(0, MAX_SERIES);
      return first.map((certificate) => {
        const labels = { certificate: certificate.id, deployed: String(isDeployed(certificate)) };
        return [labels, (certificate.expiresAt - now) / DAY_MS];
      });
    },
  });
}

const isDeployed = ({ deployments }: CertificateRecord): boolean =>
  deployments.some(({ deployedAt }) => deployedAt !== null);
