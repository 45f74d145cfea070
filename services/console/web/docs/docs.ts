// Starts Swagger UI with the document of this server. Parameters of the address cannot name another.
interface SwaggerRequest {
  url: string
  headers: Record<string, string>
}

declare const SwaggerUIBundle: (options: Record<string, unknown>) => unknown

const KEY = 'ziggurat-console-key'
const HEADER = 'Ziggurat-Console'

let usesSession = false

/** Adds the key of the console's session to requests to this server, once that was asked for. */
function withSession(request: SwaggerRequest): SwaggerRequest {
  const key = localStorage.getItem(KEY)
  const own = new URL(request.url, location.href).origin === location.origin
  if (usesSession && own && key && !request.headers.Authorization) request.headers[HEADER] = key
  return request
}

/** Offers the session of the console, if this browser has one. */
function offerSession(): void {
  const place = document.getElementById('session')
  if (!place || !localStorage.getItem(KEY)) return
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Use my session'
  button.setAttribute('aria-pressed', 'false')
  button.addEventListener('click', () => {
    usesSession = !usesSession
    button.setAttribute('aria-pressed', String(usesSession))
    button.textContent = usesSession ? 'My session is used' : 'Use my session'
  })
  place.append(button)
}

offerSession()
SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  queryConfigEnabled: false,
  validatorUrl: null,
  persistAuthorization: false,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  requestInterceptor: withSession,
})
