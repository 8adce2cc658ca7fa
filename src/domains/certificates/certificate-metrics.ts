import { Gauge, type Registry } from 'prom-client';
import type { CertificateRecord } from './certificate-cache.ts';
import { DAY_MS } from './days-left.ts';

type CertificateMetricSource = () => readonly CertificateRecord[];

const MAX_SERIES = 1_000;

export function registerCertificateMetrics(source: CertificateMetricSource, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'brokergraph_certificates',
    help: 'Number of certificates, by whether they are deployed on a listener',
    labelNames: ['deployed'],
    registers,
    collect() {
      const all = source();
      const deployed = all.filter(isDeployed).length;
      this.set({ deployed: 'true' }, deployed);
      this.set({ deployed: 'false' }, all.length - deployed);
    },
  });
  new Gauge({
    name: 'brokergraph_certificate_days_left',
    help: `Days until the first certificate of the chain expires. Negative after it has expired. Only the ${MAX_SERIES} certificates that expire first`,
    labelNames: ['certificate', 'deployed'],
    registers,
    collect() {
      this.reset();
      const now = Date.now();
      const first = [...source()].sort((a, b) => a.expiresAt - b.expiresAt).slice(0, MAX_SERIES);
      for (const certificate of first) {
        const labels = { certificate: certificate.id, deployed: String(isDeployed(certificate)) };
        this.set(labels, (certificate.expiresAt - now) / DAY_MS);
      }
    },
  });
}

const isDeployed = ({ deployments }: CertificateRecord): boolean =>
  deployments.some(({ deployedAt }) => deployedAt !== null);
