interface Reported {
  instance: string;
  revision: string;
  at: Date;
  /** Further fields of the bundle. */
  bundle?: object;
}

/** The JSON of a report of OPA 1.x: labels, bundle, plugins, and all its Prometheus metrics, which make up 60 KB. */
export function realShapedReport({ instance, revision, at, bundle = {} }: Reported): string {
  const moment = at.toISOString();
  const buckets = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ cumulative_count: at * 17, upper_bound: 10 ** (at / 4 - 6) }));
  const histogram = (code: number, handler: string) => ({
    histogram: { bucket: buckets(30), sample_count: 510, sample_sum: 0.32 },
    label: [
      { name: 'code', value: String(code) },
      { name: 'handler', value: handler },
      { name: 'method', value: 'post' },
    ],
  });
  const duration = ['v1/data', 'v0/data', 'health', 'index', 'v1/policies', 'v1/query', 'v1/compile', 'catchall'];
  return JSON.stringify({
    labels: { id: '98bd7b1c-6a5b-4bd5-9d37-6e1b5b4d4b7e', instance, version: '1.22.2' },
    bundles: {
      grantline: {
        ...{ name: 'grantline', active_revision: revision, type: 'snapshot', size: 68_211 },
        ...{ last_successful_activation: moment, last_successful_download: moment },
        ...{ last_successful_request: moment, last_request: moment },
        metrics: { timer_rego_data_parse_ns: 81_223_114, timer_bundle_request_ns: 100_200_333 },
        ...bundle,
      },
    },
    plugins: { bundle: { state: 'OK' }, discovery: { state: 'OK' }, status: { state: 'OK' } },
    metrics: {
      prometheus: {
        http_request_duration_seconds: {
          ...{ help: 'A histogram of duration for requests.', name: 'http_request_duration_seconds', type: 4 },
          metric: duration.flatMap((handler) => [200, 400, 404, 500].map((code) => histogram(code, handler))),
        },
        go_info: { help: 'Information about the Go environment.', metric: [{ gauge: { value: 1 } }], type: 1 },
      },
    },
  });
}
