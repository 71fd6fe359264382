# What stands beside commands and options in --help. English is the definition of the command line, word for word.

# Commands.

help-one-at-a-time-in-turn = De a uno, por turno, sin perder nada
help-one-at-a-time-in-turn-2 = De a uno, por turno, sin perder nada.
help-turno-coordinates-work-who-may-work = Turno coordina el trabajo: quién puede trabajar en algo y hasta cuándo (bloqueos), y en qué orden se reparte el trabajo, una vez cada cosa (colas).
help-try-turno-in-a-temporary-place = Prueba Turno en un lugar temporal que desaparece al final
help-serve-on-a-database-that-stays = Sirve sobre una base que permanece
help-create-or-upgrade-the-schema-of = Crea o actualiza el esquema de la base
help-show-which-settings-are-in-force = Muestra los valores en vigor, y de dónde viene cada uno
help-ask-a-server-whether-it-can = Pregunta a un servidor si puede hacer su trabajo
help-people-add-list-change-lock-out = Personas: agregar, listar, cambiar, impedir la entrada (en la base)
help-tokens-for-the-api-create-list = Tokens para la API: crear, listar, revocar (en la base)
help-leases-who-may-work-on-something = Bloqueos: quién puede trabajar en algo y hasta cuándo
help-queues-enqueue-claim-settle-look-inside = Colas: encolar, tomar, cerrar, mirar, reparar
help-tasks-with-lines-that-are-applied = Tareas con líneas que se aplican una vez
help-say-in-a-sentence-who-has = Dice en una frase quién tiene algo, o por qué no avanza
help-run-a-command-while-holding-a = Ejecuta un comando mientras tiene un bloqueo, y lo detiene si se pierde
help-follow-what-happens-as-it-happens = Sigue lo que pasa, mientras pasa
help-the-audit-who-did-what-with = La auditoría: quién hizo qué con permisos especiales
help-look-whether-what-is-stored-keeps = Mira si lo guardado cumple lo que se promete (en la base)
help-copy-an-sqlite-database-to-a = Copia una base SQLite a un archivo nuevo mientras está en uso
help-triggers-that-carry-changes-of-your = Triggers que llevan los cambios de sus tablas a otra parte (en la base)
help-print-a-script-that-completes-commands = Imprime un guion que completa los comandos en su shell
help-print-the-manual-or-write-its = Imprime el manual, o escribe sus páginas en una carpeta

# On every command.

help-sqlite-path-or-postgres-user-host = sqlite:RUTA, o postgres://USUARIO@HOST/BASE
help-the-configuration-file-toml = El archivo de configuración (TOML)
help-an-empty-database-of-postgresql-to = Una base vacía de PostgreSQL, para mostrar la sincronización con triggers de verdad
help-not-used-by-the-demo = La demo no lo usa
help-the-server-to-ask = El servidor al que se pregunta
help-a-file-with-the-token = Un archivo con el token
help-refused-everybody-on-the-machine-could = No se acepta: cualquiera en la máquina podría leerlo en la lista de procesos
help-mend-damaged-lanes-of-queues-two = Repara los carriles dañados: dos cabezas, ninguna cabeza, grupos de otro tamaño, elementos que nada entrega
help-print-json-for-programs = Imprime JSON, para programas
help-print-the-servers-json-for-programs = Imprime el JSON del servidor, para programas
help-at-most-so-many = Tantos como mucho
help-go-on-where-an-earlier-list = Sigue donde terminó una lista anterior

# Settings.

help-address-and-port-port-takes-a = Dirección y puerto; el puerto 0 toma uno libre
help-development-or-production-production-refuses-to = development o production; production no arranca con valores inseguros
help-do-not-create-or-upgrade-the = No crea ni actualiza el esquema; termina si no sirve
help-the-address-under-which-people-reach = La dirección por la que la gente llega al servidor, para enlaces y cookies
help-something-in-front-of-the-server = Algo delante del servidor habla HTTPS con el mundo
help-a-pages-origin-that-may-call = El origen de una página que puede llamar al servidor desde un navegador; se puede repetir
help-serve-metrics-without-a-token-on = Sirve métricas, sin token, en una dirección propia
help-send-traces-to-this-opentelemetry-collector = Envía trazas a este colector de OpenTelemetry
help-how-long-it-is-remembered-who = Cuánto tiempo se recuerda quién tuvo qué
help-text-json-or-auto-text-on = text, json, o auto: text en una terminal, json en otra parte
help-error-warn-info-debug-or-trace = error, warn, info, debug o trace, también por módulo, como en info,turno=debug
help-requests-under-way-at-once-a = Peticiones en curso a la vez; una toma que espera es una
help-open-connections = Conexiones abiertas
help-open-streams-of-live-events = Flujos de eventos abiertos
help-how-long-a-request-may-take = Cuánto puede tardar una petición; los flujos de eventos no cuentan
help-how-long-requests-under-way-may = Cuánto pueden seguir las peticiones en curso cuando se pide parar
help-a-private-network-that-endpoints-set = Una red privada a la que pueden ir los destinos puestos por la API; se puede repetir
help-let-endpoints-set-over-the-api = Deja que los destinos puestos por la API vayan a cualquier dirección privada (solo en desarrollo)
help-change-nothing-and-create-nothing-exit = No cambia ni crea nada; termina con 1 si el esquema no es el actual

# People and tokens.

help-add-a-person = Agrega una persona
help-their-id-as-it-appears-in = Su id, como aparece en los bloqueos y en la auditoría
help-what-they-may-do = Lo que puede hacer
help-how-people-call-them = Cómo le dicen
help-list-everybody = Lista a todos
help-show-one-person-with-their-tokens = Muestra a una persona con sus tokens
help-who = Quién
help-change-a-users-role-or-name = Cambia el rol o el nombre de un usuario
help-what-they-may-do-from-now = Lo que puede hacer desde ahora
help-how-people-call-them-from-now = Cómo le dicen desde ahora
help-disable-a-user-their-tokens-are = Deshabilita a un usuario: sus tokens dejan de valer y sus bloqueos terminan
help-enable-a-disabled-user-again = Habilita de nuevo a un usuario
help-set-a-users-new-password-read = Fija la nueva contraseña de un usuario, leída de la entrada
help-remove-a-user-with-all-their = Quita a un usuario con todos sus tokens
help-read-the-password-from-the-first = Lee la contraseña de la primera línea de la entrada
help-make-a-token-and-print-it = Hace un token y lo imprime, y nada más, en la salida
help-list-tokens-without-their-secrets = Lista los tokens, sin sus secretos
help-only-those-of-this-person = Solo los de esta persona
help-kill-a-token-with-the-sessions = Anula un token, con las sesiones hechas con él
help-its-id-as-list-shows-it = Su id, como lo muestra `list`; no el token mismo
help-for-whom-it-speaks = Por quién habla
help-it-speaks-for-a-machine-which = Habla por una máquina, que debe nombrar su instancia donde tome algo
help-at-most-these-permissions = Estos permisos como mucho
help-only-leases-whose-names-begin-with = Solo bloqueos cuyos nombres empiezan con uno de estos
help-it-dies-after-this-long = Deja de valer después de este tiempo

# Leases and turno run.

help-show-the-lease-of-a-resource = Muestra el bloqueo de un recurso; uno nunca visto está libre
help-which-resource = Qué recurso
help-list-what-is-held-now = Lista lo que está tomado ahora
help-show-who-held-it-before-and = Muestra quién lo tuvo antes, y cómo terminó
help-take-it-or-renew-what-is = Lo toma, o renueva lo que ya es propio
help-keep-it = Lo conserva
help-give-it-back = Lo devuelve
help-take-the-lease-from-its-holder = Toma el bloqueo de su titular; se audita, necesita locks.override
help-release-the-lease-of-its-holder = Libera el bloqueo de su titular; se audita, necesita locks.override
help-ask-the-holder-to-let-go = Pide a quien lo tiene que lo suelte
help-a-message-for-the-holder = Un mensaje para el titular
help-stand-in-line-or-keep-ones = Entra en la fila, o conserva su lugar: un lugar vive 30 s y se conserva pidiendo de nuevo
help-leave-the-line = Sale de la fila
help-which-process-waits-machines-must-say = Qué proceso espera; las máquinas deben decirlo
help-only-what-this-person-holds = Solo lo que tiene esta persona
help-only-resources-that-begin-with-this = Solo recursos que empiezan así
help-which-process-holds-it-machines-must = Qué proceso lo tiene; las máquinas deben decirlo
help-for-how-long-the-claim-and = Cuánto duran la toma y cada renovación
help-stand-in-line-for-at-most = Espera en la fila este tiempo como mucho
help-for-how-long-the-person-has = Cuánto hace que la persona no hace nada; necesario donde la política tiene guarda de inactividad
help-there-was-real-work-since-the = Hubo trabajo de verdad desde la última señal
help-the-fence-that-the-claim-was = El fence con que se contestó la toma
help-which-process-holds-it-if-the = Qué proceso lo tiene, si la toma nombró uno
help-only-if-nothing-was-claimed-since = Solo si no se tomó nada después: el número de la toma
help-why-it-is-written-into-the = Por qué; queda en la auditoría y se muestra a quien lo tiene
help-the-fence-of-the-ownership-to = El fence de la titularidad que debe terminar, como lo muestra `lease get`; una titularidad más nueva no cambia
help-what-to-hold = Lo que se toma
help-how-soon-others-may-have-it = Cuánto tardan otros en tenerlo si esta máquina muere
help-stand-in-line-for-at-most-2 = Espera en la fila este tiempo como mucho; sin esto no espera
help-how-this-process-is-called = Cómo se llama este proceso
help-ask-this-server-without-it-the = Pregunta a este servidor; sin esto el bloqueo se toma en --database
help-the-command-and-its-arguments = El comando y sus argumentos

# Queues.

help-list-the-queues-with-what-is = Lista las colas con lo que tienen
help-show-one-queue-policy-counts-rates = Muestra una cola: política, cantidades, ritmo
help-make-a-queue-or-change-its = Hace una cola, o cambia su política; necesita queues.manage
help-put-an-item-or-many-into = Pone un elemento, o muchos, en una cola
help-report-that-the-sender-is-typing = Avisa que el remitente escribe: la ventana de esta clave sigue abierta un poco más
help-which-queue = Qué cola
help-whose-messages-wait = De quién son los mensajes que esperan
help-take-what-is-due = Toma lo que hay para entregar
help-keep-what-was-taken = Conserva lo que se tomó
help-say-that-it-is-done = Dice que está hecho
help-say-that-it-went-wrong = Dice que salió mal
help-give-it-back-untried = Lo devuelve sin intentarlo
help-run-a-command-for-every-delivery = Ejecuta un comando por cada entrega: un guion como proceso
help-list-items-in-the-order-of = Lista los elementos en el orden en que llegaron
help-show-one-item-with-its-attempts = Muestra un elemento con sus intentos y errores
help-let-an-exhausted-or-failed-item = Deja que un elemento agotado o fallido se intente de nuevo, quizás corregido; necesita queues.manage
help-cancel-an-item-that-waits-needs = Cancela un elemento que espera; necesita queues.manage
help-hand-nothing-out-any-more-needs = Deja de entregar; necesita queues.manage
help-hand-out-again-needs-queues-manage = Entrega de nuevo; necesita queues.manage
help-let-exhausted-items-be-tried-again = Deja que los elementos agotados se intenten de nuevo, todos o los que coinciden; necesita queues.manage
help-forget-processed-and-cancelled-items-beyond = Olvida ya los elementos procesados y cancelados fuera de plazo; necesita queues.manage
help-say-why-an-item-or-a = Dice por qué un elemento, o una clave, no avanza
help-the-items-id = El id del elemento
help-the-payload-json-file-or-for = El contenido: JSON, @ARCHIVO, o - para la entrada
help-read-many-items-from-stdin-one = Lee muchos elementos de la entrada, un objeto JSON por línea: {"{"}"id","key","action","payload","delay_ms"{"}"}
help-the-items-id-the-same-id = El id del elemento: el mismo id se acepta una vez
help-whose-item-it-is-items-of = De quién es: los elementos de una clave se atienden en orden
help-the-action-for-the-receiver = La acción para el receptor
help-not-before-this-long-from-now = No antes de este tiempo desde ahora
help-only-in-this-state = Solo en este estado
help-only-of-this-key = Solo de esta clave
help-ask-about-a-key-instead-of = Pregunta por una clave en vez de un elemento
help-lane-per-key-in-order-inbox = lane: por clave y en orden; inbox: cada elemento una vez, sin orden; sync: de cada clave solo lo más nuevo. Necesario para una cola nueva
help-the-whole-policy-as-a-json = Toda la política como objeto JSON en este archivo, o - para la entrada; las opciones reemplazan lo que dice
help-set-what-is-not-named-to = Pone lo que no se nombra como lo tiene una cola nueva de ese tipo, en vez de dejarlo como está
help-how-long-a-hand-out-lasts = Cuánto dura una entrega sin señales
help-how-long-it-lasts-at-most = Cuánto dura como mucho, haya las señales que haya
help-how-long-a-group-stays-open = Cuánto sigue abierto un grupo después de su último mensaje (lane)
help-how-long-it-stays-open-after = Cuánto sigue abierta después de la última señal de escritura (lane)
help-how-long-it-stays-open-at = Cuánto sigue abierto como mucho (lane)
help-so-many-items-at-once-at = Tantos elementos juntos como mucho (lane)
help-so-many-attempts-before-an-item = Tantos intentos antes de que un elemento se agote
help-how-long-to-wait-after-the = Cuánto se espera tras el primer fallo; se duplica
help-how-long-finished-items-and-their = Cuánto se conservan los elementos terminados y sus ids
help-what-an-exhausted-item-does-to = Lo que un elemento agotado hace con su clave: deja seguir a los demás, o los retiene a todos
help-call-this-endpoint-for-every-delivery = Llama a este destino por cada entrega; {"{"}key{"}"} está en lugar de la clave
help-the-servers-variable-with-the-secret = La variable del servidor con el secreto que firma las llamadas; su nombre empieza con TURNO_PUSH_SECRET
help-stop-calling-the-endpoint = Deja de llamar al endpoint
help-carry-this-from-now-on-json = Lo que lleva desde ahora: JSON, @ARCHIVO, o - para la entrada
help-only-those-whose-last-error-contains = Solo aquellos cuyo último error contiene esto
help-only-what-was-exhausted-within-the = Solo lo que se agotó en este último tiempo
help-only-say-how-many-there-are = Solo dice cuántos hay
help-which-process-takes-it = Qué proceso lo toma
help-so-many-deliveries-at-most = Tantas entregas como mucho
help-wait-for-work-at-most-s = Espera trabajo, 30s como mucho
help-the-same-id-returns-the-same = El mismo id devuelve las mismas entregas mientras viven
help-take-just-this-item = Toma solo este elemento
help-the-delivery-as-the-claim-was = La entrega, como la contestó la toma
help-its-fence = Su fence
help-done-up-to-and-including-this = Hecho hasta este elemento inclusive; el resto vuelve
help-what-went-wrong = Lo que salió mal
help-which-item-failed-what-stands-before = Qué elemento falló: lo de antes está hecho, lo de después vuelve
help-try-again-after-this-long = Se intenta de nuevo después de este tiempo
help-do-not-try-again = No se intenta de nuevo
help-so-many-commands-at-the-same = Tantos comandos a la vez
help-how-long-commands-may-go-on = Cuánto pueden seguir los comandos cuando se pide parar
help-end-when-nothing-is-due-but = Termina cuando no hay nada para entregar salvo lo que esta ejecución devolvió, también si la cola está en pausa, en vez de esperar más

# Tasks.

help-list-tasks = Lista las tareas
help-show-a-task-with-its-lines = Muestra una tarea con sus líneas
help-make-a-task = Hace una tarea
help-say-that-a-draft-can-be = Dice que un borrador se puede procesar
help-cancel-a-task = Cancela una tarea
help-keep-lines-that-are-applied = Anularla aunque haya líneas aplicadas; sus efectos quedan
help-take-a-task-for-processing = Toma una tarea para procesarla
help-give-a-task-back = Devuelve una tarea
help-apply-every-line-each-once-and = Aplica cada línea, una vez, y libera la tarea
help-look-whether-a-line-could-be = Mira si una línea se podría aplicar
help-the-lines-number-from = El número de la línea, desde 1
help-show-what-happened-to-a-task = Muestra lo que le pasó a una tarea
help-the-tasks-number = El número de la tarea
help-only-in-this-status = Solo en este estado
help-only-locked-tasks = Solo las bloqueadas
help-only-free-tasks = Solo las libres
help-what-people-call-it = Cómo la llaman
help-a-line-for-a-quantity-of = Una línea por una cantidad de un artículo; se puede repetir
help-a-line-for-units-with-serial = Una línea por unidades con número de serie; se puede repetir
help-whether-these-lines-come-in-or = Si estas líneas entran o salen
help-the-lines-as-a-json-array = Las líneas como lista JSON en este archivo, o - para la entrada; van antes que las de las opciones
help-it-can-be-processed-at-once = Se puede procesar enseguida; si no, es un borrador

# The rest.

help-a-resource-task-n-a-queue = Un recurso, `task:N`, una cola, `COLA/ELEMENTO`, o las tres palabras `COLA key CLAVE`
help-list-entries-asks-a-server = Lista entradas (pregunta a un servidor)
help-follow-the-chain-from-its-first = Sigue la cadena desde su primera entrada, e imprime su cabeza para guardarla en otra parte (en la base)
help-a-head-that-was-kept-elsewhere = Una cabeza guardada en otra parte: dice si algo hasta ella se reescribió después
help-only-this-action-for-example-lock = Solo esta acción, por ejemplo lock_force_release
help-only-what-this-person-did = Solo lo que hizo esta persona
help-only-what-was-done-to-this = Solo lo que se le hizo a esto
help-the-new-file-one-that-exists = El archivo nuevo; uno que existe no se pisa
help-only-these-leases-tasks-queues-sync = Solo estos: leases, tasks, queues, sync, audit
help-begin-behind-this-position-instead-of = Empieza después de esta posición y no desde ahora: un número, el `id:` de un evento de GET /v1/events; 0 es lo más antiguo que se conserva
help-end-after-so-many-events = Termina después de tantos eventos
help-print-each-events-json-on-a = Imprime el JSON de cada evento en una línea, para programas
help-for-which-shell = Para qué shell
help-a-folder-for-one-page-per = Una carpeta para una página por comando; sin ella la primera página va a la salida

# Synchronisation.

help-only-this-source-of-the-configuration = Solo esta fuente de la configuración
help-print-exactly-the-sql-that-install = Imprime exactamente el SQL que ejecuta `install`
help-install-the-triggers-of-the-configured = Instala los triggers de las fuentes configuradas, cada una en una transacción; repetirlo deja lo mismo
help-show-whether-what-is-installed-is = Muestra si lo instalado es lo configurado, lo que espera y lo que falla; código de salida 1 si algo está mal
help-send-rows-again-those-that-were = Envía filas de nuevo: las que ya estaban, o se cargaron con los triggers apagados
help-compare-every-key-of-the-sources = Compara cada clave de las fuentes con lo último entregado; termina con 1 si algo difiere
help-remove-what-install-has-made-and = Quita lo que hizo `install`, y nada más; la cola queda
help-send-every-key-of-the-source = Envía cada clave de la fuente
help-send-this-key = Envía esta clave
help-begin-behind-this-key = Empieza después de esta clave
help-put-the-keys-that-differ-into = Pone en la cola las claves que difieren

# Defaults, in words.

help-the-policys = el de la política
help-the-variable-turno-token = la variable TURNO_TOKEN
help-all-that-the-person-has = todos los de la persona
help-when-it-is-revoked = cuando se revoca
help-the-machine-the-process-and-a = la máquina, el proceso y una palabra al azar
help-the-back-off = la espera que le toca
help-the-id = el id
help-where-the-configuration-lets-one-listen = donde la configuración lo hace escuchar, http://127.0.0.1:7171
