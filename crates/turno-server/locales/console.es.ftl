# The console: what stands on every page.

motto = De a uno, por turno, sin perder nada
skip = Ir al contenido
nav = Secciones
nav-overview = Resumen
nav-tasks = Tareas
nav-leases = Bloqueos
nav-queues = Colas
nav-sync = Sincronización
nav-audit = Auditoría
nav-admin = Administración
sign-out = Salir
sign-in = Iniciar sesión
theme-now = Ahora: { $theme ->
        [dark] colores oscuros
        [light] colores claros
       *[auto] los colores del equipo
    }
theme-next = { $theme ->
        [dark] Pasar a oscuro
        [light] Pasar a claro
       *[auto] Como el equipo
    }
live-updated = Actualizado { $ago }
live-lost = Sin conexión desde { $since }. { $updated }. Se reintenta automáticamente.
ago-now = ahora
ago-s = hace { $n } s
ago-m = hace { $n } min
ago-h = hace { $n } h
ago-d = hace { $n } d
in-s = en { $n } s
in-m = en { $n } min
in-h = en { $n } h
in-d = en { $n } d
copied = Copiado
copy = Copiar
filter = Filtrar
pages = Páginas
page-first = ‹ Al principio
page-next = Siguientes ›
dismiss = Volver
reason = Motivo
reason-hint = Queda en la auditoría, con su nombre.
go-home = Ir al resumen
request-id = Si pide ayuda, dé este número:

# The way in.

session-ended = Su sesión terminó y no se guardó nada. Inicie sesión de nuevo para volver a esta página.
session-over = Su sesión terminó: venció, se cerró en otra ventana o la cerró un administrador. Esta página ya no se actualiza ni guarda.
session-again = Iniciar sesión de nuevo
way-in-provider = Entrar con { $provider }
way-in-only = Entre con su cuenta en { $provider }.
leaving-title = Sesión cerrada
leaving-lead = Su sesión aquí terminó. Ahora termina la del proveedor.
leaving-button = Salir de { $provider }
login-title = Entrar en la línea de comandos
login-lead = turno login en { $machine } pide acceso.
login-as = Actuará como { $user }, con todos sus permisos, durante 30 días.
login-hint = Confirme solo si acaba de iniciar turno login.
login-button = Permitir el acceso
login-cancel = Cancelar
way-in-title = { $kind ->
        [setup] Primer administrador
       *[sign_in] Iniciar sesión
    }
way-in-lead = { $kind ->
        [setup] Cree el primer administrador. Después puede agregar a los demás.
        [link] Otro sitio o un mensaje abrió este enlace.
       *[sign_in] Entre con su usuario.
    }
way-in-as = El enlace inicia sesión como { $user }. Continúe solo si es usted.
way-in-user = { $kind ->
        [setup] Su usuario
       *[sign_in] Usuario
    }
way-in-password = { $kind ->
        [setup] Una contraseña nueva
       *[sign_in] Contraseña
    }
way-in-hint = { $kind ->
        [setup] Al menos 8 caracteres.
       *[sign_in] ¿No la recuerda? Pida a un administrador una contraseña nueva.
    }
way-in-button = { $kind ->
        [setup] Crear y entrar
       *[sign_in] Entrar
    }

# States: the one word for each, wherever it is shown.

state-pending = En espera
state-in_process = En proceso
state-processed = Procesado
state-error = Con error
state-exhausted = Agotado
state-cancelled = Cancelado
state-free = Libre
state-locked = Bloqueada
state-offered = Reservada
state-paused = En pausa
state-active = Activa

# Locks.

fence = Fence
instance = Instancia
filters-clear = Quitar filtros
filters-none = Sin resultados para estos filtros
filters-none-what = Cambie los filtros o quítelos.
leases-lead = Bloqueos activos: titular, inicio y vencimiento.
leases-prefix = El recurso empieza con
filter-person = Persona (nombre o usuario)
leases-resource = Recurso
leases-holder = Titular
leases-since = Desde
leases-until = Hasta
leases-beat = Último latido
leases-worked = Último trabajo
leases-expires = Vence
leases-waiting = Esperan
leases-asked = { $count ->
        [one] 1 solicitud de liberación
       *[other] { $count } solicitudes de liberación
    }
leases-empty = Sin bloqueos activos
leases-empty-what = Un bloqueo aparece cuando una persona procesa una tarea o un programa toma un recurso. Pruébelo:
leases-held-by = Bloqueada por { $name } desde
leases-kept = Su titular ya lo liberó. Sigue tomado hasta que venza.
leases-request = { $name } solicita la liberación,
leases-offered-to = Reservada para { $name }; la oferta termina
leases-is-free = Libre
leases-line = Fila de espera
leases-history = Historial
leases-history-empty = Sin titulares anteriores
leases-ended = Fin
leases-force-release = Forzar liberación
leases-force-claim = Tomar el lock
leases-force-release-title = ¿Liberar el bloqueo de { $name }?
leases-force-claim-title = ¿Tomar el bloqueo de { $name }?
leases-force-release-what = El titular pierde el bloqueo ahora y ve el motivo. Las líneas aplicadas quedan aplicadas.
leases-force-claim-what = El bloqueo pasa a usted ahora, antes que la fila de espera. El titular anterior ve el motivo.
leases-force-released = { $resource } quedó libre
leases-force-claimed = Ahora { $resource } es suyo
leases-force-claim-still = Esta página no lo renueva: vence según su política.
leases-force-claim-there = Tomar el lock en la tarea
leases-changed-hands = No se cambió nada: ahora lo tiene { $name }.
cause-no_heartbeat = Venció: sin latidos
cause-idle = Venció: inactividad
cause-rolling_timeout = Venció: demasiado tiempo sin trabajo
cause-override = Intervención de un administrador
cause-user_disabled = El usuario fue deshabilitado
cause-released = Liberada

# Overview.

all = Todo
state = Estado
overview-lead = Ahora, las últimas horas y lo que requiere atención.
overview-now = Ahora
overview-held = Bloqueos activos
overview-held-what = personas y programas
overview-working = En proceso
overview-lanes = { $count ->
        [0] ninguna clave ocupada
        [one] 1 clave ocupada
       *[other] { $count } claves ocupadas
    }
overview-waiting = En espera
overview-lanes-waiting = { $count ->
        [0] ninguna clave con mensajes
        [one] 1 clave con mensajes
       *[other] { $count } claves con mensajes
    }
overview-failing = Con error
overview-failing-what = se reintentan automáticamente
overview-exhausted-what = sin intentos, requieren decisión
overview-collisions = Conflictos evitados
overview-collisions-since = en este servidor desde
overview-collisions-what = Tomas rechazadas porque otro titular tenía el bloqueo, y llamadas con un fence caduco
chart-span = en este servidor
chart-items = Procesamiento por minuto
chart-processed = Procesados
chart-failed = Fallidos
chart-locks = Bloqueos por minuto
chart-claimed = Tomados
chart-collisions = Rechazados
overview-all = Ver todo
overview-locks = Bloqueos activos
needs = Requiere atención
needs-none = Todo al día
needs-first = Todavía no hay colas ni bloqueos. Cómo crearlos:
needs-first-what = Aquí aparecen el trabajo de las colas y los bloqueos.
needs-ready = { $more ->
        [yes] Más de { $count } tareas listas para procesar
       *[no] { $count ->
            [one] 1 tarea lista para procesar
           *[other] { $count } tareas listas para procesar
        }
    }
needs-processing = { $more ->
        [yes] Más de { $count } tareas en proceso sin titular
       *[no] { $count ->
            [one] 1 tarea en proceso sin titular
           *[other] { $count } tareas en proceso sin titular
        }
    }
needs-exhausted = { $count ->
        [one] 1 elemento agotado en { $queue }: revisar y reintentar
       *[other] { $count } elementos agotados en { $queue }: revisar y reintentar
    }
needs-exhausted-others = { $count ->
        [one] 1 elemento agotado en { $queue }: requiere a quien administra las colas
       *[other] { $count } elementos agotados en { $queue }: requieren a quien administra las colas
    }
needs-paused = { $queue } está en pausa, { $count } en espera
needs-workers = { $queue } espera hace más de 5 minutos. Ningún proceso la consume.
needs-down = El destino de { $queue } no responde: { $error }
needs-task = La tarea "{ $title }" está finalizada en parte

# Queues.

kind = { $kind ->
        [lane] Carril
        [inbox] Bandeja
       *[sync] Sincronización
    }
kind-what = { $kind ->
        [lane] Carril: elementos de una clave en orden, una entrega a la vez, agrupados por ventana.
        [inbox] Bandeja: cada elemento una vez, para un proceso.
       *[sync] Sincronización: solo el último cambio de cada clave.
    }
queues-lead = Elementos en espera, el más viejo y el procesamiento.
queues-has = Con elementos
queues-name = Cola
queues-kind = Tipo
queues-waiting = En espera
queues-failing = Con error
queues-exhausted = Agotados
queues-oldest = El más viejo
queues-none-waits = ninguno
queues-waited = Espera (mediana / p95)
queues-processed-minute = Procesados / min
queues-failed-minute = Fallidos / min
queues-unfinished = Sin terminar
queues-error = El último error contiene
queues-cut = Solo los primeros. Elija un estado para ver el resto por páginas.
queues-states = Estados
queues-key = Clave
queues-key-is = Clave (exacta)
queues-see-key = Ver clave
queues-items = Elementos
queues-empty = No hay colas
queues-empty-what = Declare una cola en el archivo de configuración, o créela con una llamada:
queues-pause = Pausar cola
queues-resume = Reanudar cola
queues-retry = Reintentar agotados
queues-pause-title = ¿Pausar { $name }?
queues-pause-what = { $count ->
        [0] Las entregas se detienen hasta reanudar la cola. Lo que llega se guarda.
        [one] Las entregas se detienen hasta reanudar la cola. Lo que llega se guarda, y 1 elemento en proceso termina.
       *[other] Las entregas se detienen hasta reanudar la cola. Lo que llega se guarda, y { $count } elementos en proceso terminan.
    }
queues-retry-title = { $count ->
        [one] ¿Reintentar 1 elemento?
       *[other] ¿Reintentar { $count } elementos?
    }
queues-retry-what = { $count ->
        [one] 1 elemento agotado vuelve a su lugar, con sus intentos en cero.
       *[other] { $count } elementos agotados vuelven a su lugar, con sus intentos en cero. Se reintentan hasta 10.000 por vez.
    }
queues-paused = { $name } quedó en pausa
queues-resumed = { $name } se reanudó
queues-retried = { $count ->
        [one] 1 elemento se reintentará
       *[other] { $count } elementos se reintentarán
    }
queues-policy = Política vigente
queues-managed = la fija el archivo de configuración
policy-lock_timeout = Plazo del bloqueo
policy-window = Ventana de agrupación
policy-max_wait = Espera máxima
policy-on_exhausted = Si se agota el primer elemento
policy-hold = retener el carril
policy-continue = seguir con el siguiente
policy-max_attempts = Intentos
policy-backoff = Primera espera entre intentos
policy-typing_extension = Extensión al escribir
policy-max_hold = Retención máxima por entrega
policy-batch_max = Elementos por entrega, como máximo
policy-retention = Retención de lo terminado
items-id = Elemento
items-attempts = Intentos
items-came = Llegó
items-detail = Detalle
items-due = Se entrega
items-empty = Sin elementos pendientes
items-empty-what = Los elementos nuevos aparecen aquí al momento. Pruébelo:
why = ¿Por qué?
key-window = Ventana de agrupación { $window }, espera máxima { $max }
key-items = { $count ->
        [one] 1 sin terminar
       *[other] { $count } sin terminar
    }
key-all = Ver también los terminados
key-empty = Sin elementos pendientes
key-head = primero
item-attempt = Intento { $attempt }
item-attempts = { $attempts } de { $max }
item-gave-up = el proceso desistió
item-again = se reintenta
happened-enqueued = Llegó
happened-handed_out = Se entregó
happened-failed = Falló
happened-expired = El proceso no respondió a tiempo
happened-exhausted = Se agotó
happened-processed = Se procesó
happened-skipped = No había nada que enviar
happened-returned = Se devolvió sin procesar
happened-superseded = Cambió mientras se procesaba
happened-cleared = Se canceló: se vació su carril
happened-cancelled = Se canceló
happened-retried = Una persona lo reintentó
happened-edited = Una persona lo corrigió y reintentó
item-timeline = Línea de tiempo
item-payload = Contenido
item-until = vence sin latido
item-due = Se entrega
item-action = Acción
item-revision = Revisión
item-retry = Reintentar elemento
item-edit = Corregir y reintentar
item-edit-title = Corregir y reintentar
item-edit-what = El contenido nuevo reemplaza al anterior. La auditoría guarda ambas huellas.
item-edit-bad = El contenido no es JSON válido: { $cause }. Su texto sigue aquí
item-cancel = Cancelar elemento
item-cancel-title = ¿Cancelar este elemento?
item-cancel-what = No se procesa. Los elementos que siguen continúan. Queda en la auditoría.
item-retried = { $id } se reintentará
item-cancelled = { $id } quedó cancelado

# More states.

state-partially_completed = Finalizada en parte

# Audit.

audit-lead = Cada intervención y cambio administrativo, con persona, hora y motivo.
audit-verify = Verificar auditoría
audit-whole = Auditoría íntegra: { $count } entradas, hasta { $head }
audit-action = Acción
audit-actor = Persona
audit-resource = Recurso
audit-resource-is = Recurso (exacto)
who-system = El sistema
audit-n = N.º
audit-when = Cuándo
audit-detail = Detalle
audit-empty = Todavía no hay entradas
audit-empty-what = La auditoría registra bloqueos forzados, reintentos y cambios de personas y colas.
audit-lock_force_claim = Tomó un bloqueo a la fuerza
audit-lock_force_release = Liberó un bloqueo a la fuerza
audit-item_retry = Reintentó un elemento
audit-item_edit = Corrigió y reintentó
audit-item_cancel = Canceló un elemento
audit-delivery_settle = Resolvió una entrega de otra cuenta
audit-lane_clear = Vació un carril
audit-database_life = Base de datos restaurada o conmutada: se adelantaron los contadores
audit-queue_repair = Reparó una cola
audit-queue_put = Definió una cola
audit-queue_pause = Pausó una cola
audit-queue_resume = Reanudó una cola
audit-queue_purge = Purgó lo terminado
audit-sync_install = Instaló una sincronización
audit-sync_remove = Quitó una sincronización
audit-sync_resync = Reenvió una sincronización
audit-sync_revived = Revivió tras una caída
audit-task_cancel = Anuló una tarea
audit-user_add = Agregó a una persona
audit-user_change = Cambió a una persona
audit-user_remove = Quitó a una persona
audit-user_link = Vinculó una persona a una identidad
audit-access_end = Perdió el acceso: sin rol en el proveedor
audit-token_create = Creó un token
audit-token_rotate = Rotó un token
audit-token_revoke = Revocó un token
audit-choice-token_revoke = Revocó un token o cerró sesión
audit-signed_out = Cerró sesión
audit-session_open = Inició sesión
audit-sign_in = Inició sesión
audit-sign_in_failed = No pudo iniciar sesión
audit-session_mint = Abrió una sesión para un usuario
audit-link_make = Creó un enlace
audit-link_redeem = Usó un enlace

# Details of entries, by their names in the audit.

detail-before_ms = Anteriores a
detail-changed = Tuvo efecto
detail-count = Cuántos
detail-disabled = Deshabilitada
detail-expires_at_ms = Vence
detail-fence = Fence nuevo
detail-fence_before = Fence anterior
detail-holder_before = Titular anterior
detail-machine = Programa
detail-password_changed = Contraseña cambiada
detail-payload_after = Huella nueva
detail-payload_before = Huella anterior
detail-reason = Motivo
detail-role = Rol
detail-role_before = Rol anterior
detail-scope = Puede
detail-status_before = Estado anterior
detail-policy = Política
detail-push = Destino
detail-created = Nueva
detail-token = Token n.º
yes = sí
no = no

# Administration.

save = Guardar
admin-people = Personas
admin-tokens = Tokens
admin-settings = Configuración
people-lead = Usuarios y sus roles.
people-add = Agregar persona
people-add-what = Después póngale una contraseña en su página.
people-id = Usuario
people-name = Nombre
people-role = Rol
people-since = Desde
people-added = Se agregó a { $name }. Falta su contraseña
people-changed = Se guardaron los datos de { $name }
people-disabled = Se deshabilitó a { $name }. Sus bloqueos quedaron libres
people-enabled = { $name } puede entrar otra vez
people-removed = Se quitó a { $name }
people-enable = Habilitar usuario
people-disable = Deshabilitar usuario
people-remove = Quitar usuario
people-disable-title = ¿Deshabilitar a { $name }?
people-disable-what = Sus sesiones y tokens terminan ahora y sus bloqueos se liberan. Se puede deshacer.
people-remove-title = ¿Quitar a { $name }?
people-remove-what = Sus sesiones y tokens terminan ahora. Sus entradas de auditoría quedan. No se puede deshacer.
people-password = Contraseña nueva
people-password-what = Al menos 8 caracteres. Sus otras sesiones terminan.
people-password-set = Guardar contraseña
people-identity = Cuenta OpenID
people-subject = Sujeto
people-subject-what = El claim sub en { $issuer }. Esa cuenta entra después como este usuario.
people-link = Vincular cuenta
people-unlink = Quitar vínculo
people-linked = Se vinculó a { $name }
people-unlinked = { $name } ya no está vinculado
people-change = Datos
people-way-in = Acceso
role = { $role ->
        [admin] Administración
        [editor] Edición
       *[viewer] Solo mira
    }
secret-kept = Listo, lo copié
token-lead = Los programas llaman a la API con un token. El token se muestra una sola vez.
token-new = Token de programa
token-title = Token de { $name }
token-what = Cópielo ahora. No se vuelve a mostrar.
token-id = Token
token-user = Dueño
token-kind = Tipo
token-of = { $kind ->
        [console] Sesión de la consola
        [session] Sesión de otra aplicación
       *[token] Token
    }
token-scope = Permisos
token-all = todos los permisos de su dueño
token-expires = Vence
token-never = nunca
token-used = Último uso
token-speaks = Actúa como
token-person = la persona
token-machine = un programa
token-queue = cola { $queue }
token-days = Vence en (días)
token-make = Crear token
token-rotate = Rotar token
token-revoke = Revocar token
token-revoked = Se revocó el token
token-empty = No hay tokens
token-empty-what = Cree un token en la página de su dueño.
settings-lead = Configuración vigente y su origen.
settings-key = Clave
settings-value = Valor
settings-origin = Origen
settings-queues = Políticas de colas vigentes
origin-default = por omisión
settings-callers = Clientes mayores de este servidor
settings-caller = Cliente
settings-caller-requests = Peticiones
settings-caller-waiting = Tomas
settings-caller-streams = Flujos de eventos
settings-caller-leases = Bloqueos vivos
origin-demo = la demo
origin-preset = la plantilla { $name }
origin-file = { $path }, línea { $line }
origin-config = el archivo de configuración
origin-call = una llamada a la API
state-expires_soon = Vence pronto
state-enabled = Habilitada
state-disabled = Deshabilitada

# Synchronisation. The states are the seed's own words, which stand in the database's view too, in every language.

seed-pending = PENDIENTE
seed-in_process = EN_PROCESO
seed-processed = PROCESADO
seed-error = ERROR
seed-exhausted = AGOTADO
seed-cancelled = CANCELADO
state-installed = Trigger instalado
state-absent = Sin instalar
state-differs = Distinto de la configuración
state-blocked = No se puede instalar
state-taken = Nombre ocupado
state-no_triggers = Sin triggers
state-unknown = Desconocido
state-good = Correcto
state-missing = Falta
state-stale = Desactualizado
state-healthy = El módulo responde
state-down = El módulo no responde
